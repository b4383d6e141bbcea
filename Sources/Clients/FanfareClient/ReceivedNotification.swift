// What a push holds is a module of its own, so that an app can have it without the Redis client; who has this module
// has that one too.
@_exported public import FanfareReceiving
