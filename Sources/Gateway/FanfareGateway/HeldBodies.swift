internal import NIOConcurrencyHelpers
internal import Synchronization

/// Counts the bytes of the bodies that requests hold at once, and limits them.
///
/// A body counts from its first byte as long as its request is held. One that is alone is always admitted, so that its path's limit
/// holds.
final class HeldBodies: Sendable {
    /// The limit of a gateway, in bytes.
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

/// The bytes of one request among ``HeldBodies``, as long as it is held.
final class BodyShare: Sendable {
    private let bodies: HeldBodies
    private let bytes = Atomic(0)

    init(of bodies: HeldBodies) { self.bodies = bodies }

    deinit { bodies.release(bytes.load(ordering: .relaxed)) }

    /// For one caller at a time.
    /// - Returns: false if the bodies of other requests leave no room for these bytes.
    func add(_ bytes: Int) -> Bool {
        guard bodies.admit(bytes, to: self.bytes.load(ordering: .relaxed)) else { return false }
        self.bytes.add(bytes, ordering: .relaxed)
        return true
    }
}
