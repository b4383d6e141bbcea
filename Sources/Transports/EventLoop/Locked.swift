internal import Glibc

/// A value behind a pthread mutex.
///
/// The standard library's `Mutex` is a futex that the thread sanitizer cannot see, so its reports would drown real
/// ones; a pthread mutex it understands.
public final class Locked<Value>: @unchecked Sendable {
    // Unchecked because the compiler cannot see that `value` is only touched between lock and unlock.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    public init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    public func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
