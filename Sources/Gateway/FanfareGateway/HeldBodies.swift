internal import NIOConcurrencyHelpers

/// Counts the bytes of the bodies that requests hold at once, and limits them.
///
/// A body counts from its first byte until the answer is made. One that is alone is always admitted, so that its path's limit
/// holds.
final class HeldBodies: Sendable {
    /// Of a gateway, bytes.
    static let usualLimit = 67_108_864

    private let limit: Int
    private let count = NIOLockedValueBox(0)

    init(limit: Int) { self.limit = limit }

    fileprivate func admit(_ bytes: Int, to share: Int) -> Bool {
        count.withLockedValue { count in
            guard count == share || count + bytes <= limit else { return false }
            count += bytes
            return true
        }
    }

    fileprivate func release(_ bytes: Int) { count.withLockedValue { $0 -= bytes } }
}

/// The bytes of one request among ``HeldBodies``. One holder releases them.
struct BodyShare: Sendable {
    private let bodies: HeldBodies
    private var bytes = 0

    init(of bodies: HeldBodies) { self.bodies = bodies }

    /// - Returns: false if the bodies of other requests leave no room for these bytes.
    mutating func add(_ bytes: Int) -> Bool {
        guard bodies.admit(bytes, to: self.bytes) else { return false }
        self.bytes += bytes
        return true
    }

    mutating func release() {
        if bytes > 0 { bodies.release(bytes) }
        bytes = 0
    }
}
