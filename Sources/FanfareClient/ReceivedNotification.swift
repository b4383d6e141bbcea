public import FanfareReceiving

/// A push as an Apple app gets it, taken apart. An app that needs this alone depends on the product `FanfareReceiving`,
/// which brings no Redis client along.
public typealias ReceivedNotification = FanfareReceiving.ReceivedNotification
