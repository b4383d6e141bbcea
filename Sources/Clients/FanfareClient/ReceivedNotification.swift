// The received push is a module of its own, so that apps can use it without the Redis client.
@_exported public import FanfareReceiving
