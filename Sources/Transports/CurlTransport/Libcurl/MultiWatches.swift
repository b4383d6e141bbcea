internal import CCurl
internal import EventLoop
internal import Glibc

/// What libcurl wants watched for one multi handle, and what the loop has seen of it.
///
/// libcurl asks in the middle of its own work. What it asks is written down, and ``settle()`` carries it out once libcurl
/// has returned. It may ask until `curl_multi_cleanup` has returned: the owner lets go of this only after that.
final class MultiWatches {
    /// A watched descriptor is ready: what `curl_multi_socket_action` is to hear of it.
    var onReady: (_ fd: Int32, _ mask: Int32) -> Void = { _, _ in }

    private let loop: EventLoop
    private var watches: [(fd: Int32, id: RegistrationID)] = []

    // Written by callbacks.
    fileprivate var wishes: [(fd: Int32, what: Int32)] = []
    fileprivate var timeoutWish: Int?

    init(loop: EventLoop) { self.loop = loop }

    func attach(to multi: UnsafeMutableRawPointer) -> CURLMcode {
        ccurl_multi_set_callbacks(multi, wantsSocket, wantsTimer, Unmanaged.passUnretained(self).toOpaque())
    }

    func isWatched(_ fd: Int32) -> Bool { watches.contains { $0.fd == fd } }

    /// The descriptor was closed: its number may come back before libcurl says that it is gone.
    func closed(_ fd: Int32) { wishes.append((fd, CURL_POLL_REMOVE)) }

    /// Carries out what libcurl asked for. After every call into it that may have asked, before anything else can open
    /// a descriptor: a number that libcurl has closed may be another descriptor's by then.
    ///
    /// - Returns: why a descriptor cannot be watched, so that nothing would ever be noticed of it.
    func settle() -> SystemError? {
        var failure: SystemError?
        for wish in wishes {
            do throws(SystemError) {
                try watch(wish.fd, wish.what)
            } catch  where error.code == EBADF {
                // Opened and closed again within one call: the wish is out of date.
            } catch {
                failure = error
            }
        }
        wishes.removeAll(keepingCapacity: true)
        return failure
    }

    /// In how many milliseconds libcurl last asked to be called, negative for never; nil when it has not asked since.
    func takeTimeout() -> Int? {
        defer { timeoutWish = nil }
        return timeoutWish
    }

    /// Watches nothing any more. What libcurl asks after that is written down and never carried out, so it may come before
    /// or after the multi handle is gone.
    func stop() {
        for watch in watches { loop.deregister(watch.id) }
        watches = []
    }

    private func watch(_ fd: Int32, _ what: Int32) throws(SystemError) {
        let index = watches.firstIndex { $0.fd == fd }
        if what == CURL_POLL_REMOVE {
            if let index { loop.deregister(watches.remove(at: index).id) }
            return
        }
        var interest: Interest = []
        if what & CURL_POLL_IN != 0 { interest.insert(.read) }
        if what & CURL_POLL_OUT != 0 { interest.insert(.write) }
        if let index { return loop.update(watches[index].id, interest: interest) }
        let id = try loop.register(fd: fd, interest: interest) { [unowned self] readiness in
            var mask: Int32 = 0
            if readiness.contains(.readable) { mask |= CURL_CSELECT_IN }
            if readiness.contains(.writable) { mask |= CURL_CSELECT_OUT }
            if readiness.contains(.failed) { mask |= CURL_CSELECT_ERR }
            onReady(fd, mask)
        }
        watches.append((fd, id))
    }
}

private func wantsSocket(
    _ easy: UnsafeMutableRawPointer?,
    _ fd: curl_socket_t,
    _ what: Int32,
    _ context: UnsafeMutableRawPointer?,
    _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    Unmanaged<MultiWatches>.fromOpaque(context).takeUnretainedValue().wishes.append((fd, what))
    return 0
}

private func wantsTimer(
    _ multi: UnsafeMutableRawPointer?,
    _ milliseconds: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context else { return 0 }
    Unmanaged<MultiWatches>.fromOpaque(context).takeUnretainedValue().timeoutWish = milliseconds
    return 0
}
