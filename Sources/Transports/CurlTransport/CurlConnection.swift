internal import CCurl
internal import EventLoop
internal import FanfareModel
internal import Glibc
internal import HTTPLanes

/// One multi handle, for one connection.
///
/// libcurl's callbacks only record facts; ``applyRequests()`` acts on them after libcurl has returned. They may come as long
/// as the multi handle lives, so the pool keeps a connection until ``close()``.
final class CurlConnection: LaneConnection {
    private let loop: EventLoop
    private let multi: UnsafeMutableRawPointer
    private let userTimeoutMs: UInt32
    private unowned let lane: Lane
    private let store: TransferStore

    private var transfers: [Transfer] = []
    /// The same transfers by the lane's numbers.
    private var numbered: [Transfer?] = []
    /// The error that makes libcurl useless on this connection; nil if there is none.
    private var breakReason: String?
    private var isClosed = false

    private let watches: MultiWatches
    private var ready: [(fd: Int32, mask: Int32)] = []
    private var deadline: UInt64?
    private var armed: (id: TimerID, at: UInt64)?
    private var isCorked = false
    /// Bytes of answers after which a pump ends, so that the pool charges them before it reads more.
    private static let readLimit = 262_144

    // Written by callbacks.
    /// Bytes that the answers of ``transfers`` take.
    var heldBytes = 0
    private var sockets: [Int32] = []
    private var lostLastSocket = false
    /// Counts the sockets ever opened, so that facts of one connection are not taken for the next one's.
    private(set) var generation = 0
    private var multiplexed: Set<Int> = []
    /// Transfers whose body libcurl has begun to read, until they are removed.
    private(set) var running = 0

    init?(loop: EventLoop, configuration: OriginConfiguration, store: TransferStore, lane: Lane) {
        guard let multi = curl_multi_init() else { return nil }
        self.loop = loop
        self.multi = multi
        self.lane = lane
        self.store = store
        userTimeoutMs = configuration.userTimeoutMs
        watches = MultiWatches(loop: loop)
        let codes = [
            watches.attach(to: multi),
            ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX)),
            // Beyond this libcurl holds a request back instead of opening a second connection.
            ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1),
            ccurl_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, max(1, configuration.maximumStreamsPerLane)),
        ]
        precondition(codes.allSatisfy { $0 == CURLM_OK }, "libcurl refused a lane's options")
        watches.onReady = { [unowned self, unowned lane] fd, mask in
            ready.append((fd, mask))
            lane.enlist()
        }
    }

    deinit { assert(isClosed, "closed on the loop first") }

    /// Whether the connection of that generation is, or was, HTTP/2 for certain. Also right when read from a callback.
    private func isMultiplexed(_ generation: Int) -> Bool { multiplexed.contains(generation) }

    /// Whether the connection on which libcurl read the transfer's body has ended. If so, the transfer's end says
    /// nothing about the present connection. libcurl looks for a second connection only after the first ended.
    private func isOver(_ generation: Int, for transfer: Transfer) -> Bool {
        generation < self.generation || (transfer.wasKeptFromRepeating && sockets.isEmpty)
    }

    /// Points a handle's connection callbacks here.
    func adopt(_ easy: UnsafeMutableRawPointer) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        Curl.set(easy, CURLOPT_SOCKOPTDATA, pointer: context)
        Curl.check(ccurl_set_sockopt(easy, connectionOpened), CURLOPT_SOCKOPTFUNCTION)
        Curl.set(easy, CURLOPT_CLOSESOCKETDATA, pointer: context)
        Curl.check(ccurl_set_close(easy, connectionClosed), CURLOPT_CLOSESOCKETFUNCTION)
    }

    // MARK: Transfers

    func submit(_ request: HTTPRequest, number: Int) -> Bool {
        guard let transfer = store.next() else { return false }
        let headers = store.headerList(request.headers)
        transfer.prepare(request, number: number, headers: headers, connection: self)
        let code = curl_multi_add_handle(multi, transfer.easy)
        guard code == CURLM_OK else {
            breakReason = "add: \(code.rawValue)"
            transfer.leftConnection()
            store.recycle(transfer)
            return false
        }
        transfer.position = transfers.count
        transfers.append(transfer)
        while numbered.count <= number { numbered.append(nil) }
        numbered[number] = transfer
        applyRequests()
        return true
    }

    func nextEnd() -> (number: Int, end: RequestEnd)? {
        guard let (transfer, code) = nextFinished() else { return breakReason.flatMap(nextAbandoned) }
        let facts = transfer.facts(code: code)
        let isMultiplexed = transfer.isMultiplexed
        if isMultiplexed == true, let generation = transfer.readGeneration { multiplexed.insert(generation) }
        let isEarlier = transfer.readGeneration.map { isOver($0, for: transfer) } ?? false
        let ending = LaneState.Ending(facts, isMultiplexed: isMultiplexed, isEarlier: isEarlier)
        return (transfer.number, end(transfer, facts, as: ending))
    }

    private func nextAbandoned(_ breakReason: String) -> (number: Int, end: RequestEnd)? {
        lane.state.retire()
        guard let transfer = transfers.last else { return nil }
        let facts = transfer.facts(code: nil, giveUp: "libcurl failed as a whole: \(breakReason)")
        return (transfer.number, end(transfer, facts, as: .connectionFailed(isEarlier: false)))
    }

    func cancel(_ number: Int, reason: Reason, as ending: LaneState.Ending) -> RequestEnd {
        guard let transfer = numbered[number] else { preconditionFailure("request \(number) has ended before") }
        return end(transfer, transfer.facts(code: nil, giveUp: reason), as: ending)
    }

    func isHeldBack(_ number: Int) -> Bool { numbered[number]?.isUnread ?? false }

    var largestAnswer: (number: Int, bytes: Int)? {
        guard heldBytes > 0 else { return nil }
        return transfers.map { ($0.number, $0.answer.heldBytes) }.max { $0.1 < $1.1 }
    }

    func tick(nowMs: Int64) {}

    private func end(_ transfer: Transfer, _ facts: TransferFacts, as ending: LaneState.Ending) -> RequestEnd {
        let end = OutcomeClassifier.end(of: transfer, facts, as: ending)
        remove(transfer)
        store.recycle(transfer)
        applyRequests()
        return end
    }

    private func remove(_ transfer: Transfer) {
        curl_multi_remove_handle(multi, transfer.easy)
        if transfer.hasBody, !transfer.isUnread { running -= 1 }
        let last = transfers.removeLast()
        if last !== transfer {
            transfers[transfer.position] = last
            last.position = transfer.position
        }
        numbered[transfer.number] = nil
        heldBytes -= transfer.answer.heldBytes
        transfer.leftConnection()
    }

    private func nextFinished() -> (transfer: Transfer, code: Int)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let transfer = Transfer.of(easy)
            else { continue }
            return (transfer, Int(message.pointee.data.result.rawValue))
        }
        return nil
    }

    // MARK: Pumping

    /// Passes the loop's events to libcurl, then runs libcurl while its timeout is due.
    func pump() {
        guard !ready.isEmpty || isDue else { return }
        cork()
        let heldBefore = heldBytes
        let events = ready
        ready.removeAll(keepingCapacity: true)
        for event in events where watches.isWatched(event.fd) { act(event.fd, event.mask) }
        // A request takes a few steps to its body; more than that waits for the next pump, so that one lane cannot
        // hold the loop.
        var rounds = 0
        while isDue, rounds < 8, heldBytes - heldBefore < Self.readLimit {
            deadline = nil
            act(-1, 0)
            rounds += 1
        }
    }

    /// libcurl wants to run now.
    private var isDue: Bool { deadline.map { $0 <= loop.now } ?? false }

    /// Lets the kernel send what was written since ``pump()``.
    func flush() {
        guard isCorked else { return }
        isCorked = false
        for fd in sockets { _ = ccurl_set_cork(fd, 0) }
    }

    /// Lets the kernel gather the writes into full segments until ``flush()``.
    private func cork() {
        guard !isCorked, lane.state.phase == .ready else { return }
        isCorked = true
        for fd in sockets { _ = ccurl_set_cork(fd, 1) }
    }

    private func act(_ fd: Int32, _ mask: Int32) {
        var stillRunning: Int32 = 0
        let code = curl_multi_socket_action(multi, fd, mask, &stillRunning)
        if code != CURLM_OK { breakReason = "action: \(code.rawValue)" }
        applyRequests()
    }

    /// Carries out libcurl's requests; see ``MultiWatches/applyRequests()``.
    private func applyRequests() {
        if let failure = watches.applyRequests() { breakReason = "\(failure)" }
        if let timeoutMs = watches.removeTimeout() {
            deadline = timeoutMs < 0 ? nil : loop.now + UInt64(min(timeoutMs, 3_600_000)) * 1_000_000
        }
        arm()
        if lostLastSocket {
            lostLastSocket = false
            lane.state.lostConnection()
        }
        if lane.state.phase == .opening, running > 0 {
            let nowMs = loop.nowMs
            lane.state.recordFirstRead(nowMs: nowMs)
            if isMultiplexed(generation) { lane.state.recordMultiplexing(nowMs: nowMs) }
        }
    }

    /// The loop's timer may be early, never late: an early one only finds that it is not time yet.
    private func arm() {
        guard let deadline, deadline > loop.now else {
            if deadline != nil { lane.enlist() }
            return
        }
        if let armed {
            if armed.at <= deadline { return }
            loop.cancel(armed.id)
        }
        let id = loop.schedule(afterNanoseconds: deadline - loop.now) { [unowned self] in
            armed = nil
            arm()
        }
        armed = (id, deadline)
    }

    // MARK: Facts from callbacks

    /// Records that libcurl reads a transfer's body. Only HTTP/2 reads two on one connection before either is answered.
    /// A transfer that has ended but was not collected yet does not count: on HTTP/1.1 the next one starts within the
    /// same call.
    func recordRead(_ transfer: Transfer) {
        running += 1
        guard !isMultiplexed(generation) else { return }
        let isBeside = { (other: Transfer) in
            other !== transfer && other.readGeneration == self.generation && other.hasNoAnswer
        }
        if transfers.contains(where: isBeside) { multiplexed.insert(generation) }
    }

    fileprivate func recordOpened(_ fd: Int32) {
        generation += 1
        sockets.append(fd)
        _ = ccurl_set_user_timeout(fd, userTimeoutMs)
    }

    fileprivate func recordClosed(_ fd: Int32) {
        sockets.removeAll { $0 == fd }
        watches.closed(fd)
        if sockets.isEmpty { lostLastSocket = true }
    }

    func close() {
        assert(transfers.isEmpty, "transfers are removed first")
        curl_multi_cleanup(multi)
        watches.stop()
        if let armed { loop.cancel(armed.id) }
        armed = nil
        isClosed = true
    }
}

private let connectionOpened: ccurl_sockopt_callback = { context, fd, _ in
    guard let connection: CurlConnection = Curl.owner(of: context) else { return CURL_SOCKOPT_OK }
    connection.recordOpened(fd)
    return CURL_SOCKOPT_OK
}

private let connectionClosed: ccurl_close_callback = { context, fd in
    if let connection: CurlConnection = Curl.owner(of: context) { connection.recordClosed(fd) }
    return Glibc.close(fd)
}
