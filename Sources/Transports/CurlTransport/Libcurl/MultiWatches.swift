internal import CCurl
internal import EventLoop
internal import Glibc

/// The descriptors that libcurl wants the loop to watch for one multi handle.
///
/// libcurl's callbacks only record its requests, and ``applyRequests()`` carries them out after libcurl has returned. They may
/// come until `curl_multi_cleanup` has returned, so the owner keeps this object until then.
final class MultiWatches {
    /// Called when a watched descriptor is ready, with the mask for `curl_multi_socket_action`.
    var onReady: (_ fd: Int32, _ mask: Int32) -> Void = { _, _ in }

    private let loop: EventLoop
    private var watches: [(fd: Int32, id: RegistrationID)] = []

    // Written by callbacks.
    fileprivate var requests: [(fd: Int32, what: Int32)] = []
    fileprivate var timeoutRequest: Int?

    init(loop: EventLoop) { self.loop = loop }

    func attach(to multi: UnsafeMutableRawPointer) -> CURLMcode {
        ccurl_multi_set_callbacks(multi, wantsSocket, wantsTimer, Unmanaged.passUnretained(self).toOpaque())
    }

    func isWatched(_ fd: Int32) -> Bool { watches.contains { $0.fd == fd } }

    /// The descriptor was closed: its number may be reused before libcurl reports the end.
    func closed(_ fd: Int32) { requests.append((fd, CURL_POLL_REMOVE)) }

    /// Carries out libcurl's requests. Call it after every call into libcurl, before anything else opens a descriptor:
    /// a number that libcurl has closed may be another descriptor's by then.
    ///
    /// - Returns: why a descriptor cannot be watched.
    func applyRequests() -> SystemError? {
        var failure: SystemError?
        for request in requests {
            do throws(SystemError) {
                try watch(request.fd, request.what)
            } catch  where error.code == EBADF {
                // Opened and closed again within one call: the request is out of date.
            } catch {
                failure = error
            }
        }
        requests.removeAll(keepingCapacity: true)
        return failure
    }

    /// Removes and returns the timeout that libcurl set since the last call: milliseconds, negative for none.
    func removeTimeout() -> Int? {
        defer { timeoutRequest = nil }
        return timeoutRequest
    }

    /// Stops watching. Later requests of libcurl have no effect, so this may come before or after the multi handle's
    /// end.
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

private let wantsSocket: ccurl_socket_callback = { _, fd, what, context, _ in
    guard let watches: MultiWatches = Curl.owner(of: context) else { return 0 }
    watches.requests.append((fd, what))
    return 0
}

private let wantsTimer: ccurl_timer_callback = { _, milliseconds, context in
    guard let watches: MultiWatches = Curl.owner(of: context) else { return 0 }
    watches.timeoutRequest = milliseconds
    return 0
}
