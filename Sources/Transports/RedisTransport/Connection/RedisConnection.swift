public import EventLoop
public import OpenSSLKit
internal import SocketTransport
public import StreamWire

/// One connection to Redis, on one loop: pipelined, and reconnecting by itself until it is closed. At each connect the
/// server is located again: with Sentinels or a cluster it may be another one.
///
/// Commands sent within a turn leave in one write at its end, large ones piece by piece, and are answered in order. A
/// command that blocks in Redis (`XREADGROUP BLOCK`) delays the commands after it: it needs a connection of its own and
/// a timeout longer than it blocks. Nothing is ever sent twice: a command whose answer is lost fails with
/// `maybeApplied`. A server that turns out to be the wrong one still answers the commands it was sent; then the right
/// one is located.
///
/// Call ``close()`` on the loop before dropping the last reference.
public final class RedisConnection {
    public typealias Completion = (Result<RedisValue, RedisError>) -> Void

    /// Called on the loop at every change of ``state``.
    public var onStateChange: (RedisState) -> Void = { _ in }
    /// Called on the loop when Redis answers that it lacks a function, before the caller gets that error.
    public var onFunctionMissing: () -> Void = {}
    public var state: RedisState { machine.state }

    enum Waiter {
        case greeting(expected: Greeting.Expectation)
        case caller(Completion)
    }

    let loop: EventLoop
    /// The server that is, or is to be, connected to; before the first one is located, only how to sign in to it.
    public internal(set) var endpoint: RedisEndpoint
    let locator: any ServerLocator
    let timeouts: RedisTimeouts
    /// Holds from the next bytes on.
    public var limits: RedisLimits {
        didSet { reader?.limits = limits }
    }
    let random: () -> Double
    private let tls: TLSOptions
    private let greeting: [(command: RedisCommand, expected: Greeting.Expectation)]

    var machine: RedisConnectionStateMachine
    var pending = PendingCommands<Waiter>()
    var channel: ByteChannel?
    var reader: ReplyReader?
    /// Bytes of a command from which it is written piece by piece.
    private static let large = 1 << 20
    /// Commands of this turn, as bytes.
    private var gathered: [UInt8] = []
    /// Outgoing bytes of this connection, gathered ones included.
    private var position: UInt64 = 0
    private var addresses: [SocketAddress] = []
    private var resolutions: (inbox: Inbox<Resolution>, attachment: AttachmentID)?
    private var registration: RegistrationID?
    /// Changes with every socket: what holds an old number must not touch the new one.
    private(set) var generation: UInt64 = 0
    private var phaseTimer: TimerID?
    private var commandTimer: (id: TimerID, at: UInt64)?
    /// When bytes last came, or left after the kernel had no room for them.
    var movedAt: UInt64 = 0
    private var turnGuard: TimerID?
    private var turnEnd: TurnEndID?
    var reconsidering: TimerID?

    /// - Parameters:
    ///   - key: in a cluster, a key of the slot that this connection is for; nil: any primary.
    ///   - staysWithMovingSlot: an `ASK` leaves the connection as it is; otherwise it ends it, as `MOVED` does.
    ///   - requiresWholeSlot: the connection waits while a primary that does not serve the slot has keys of it.
    ///   - name: for `CLIENT SETNAME`; characters that Redis refuses there become `-`; empty: no name.
    ///   - tls: used when the deployment's URL begins with `rediss`.
    ///   - random: in 0..<1, spreads the reconnects.
    public init(
        loop: EventLoop,
        deployment: RedisDeployment,
        key: String? = nil,
        staysWithMovingSlot: Bool = false,
        requiresWholeSlot: Bool = false,
        name: String,
        tls: TLSOptions = TLSOptions(),
        timeouts: RedisTimeouts = RedisTimeouts(),
        limits: RedisLimits = RedisLimits(),
        random: @escaping () -> Double = { Double.random(in: 0..<1) }
    ) {
        var timeouts = timeouts
        switch deployment.form {
        case .server: locator = FixedLocator(deployment.server)
        case .sentinel(let primary):
            timeouts.maximumBackoffMs = min(timeouts.maximumBackoffMs, Self.maximumBackoffMs)
            locator = SentinelLocator(
                loop: loop,
                deployment: deployment,
                primary: primary,
                tls: tls,
                patienceMs: timeouts.connectMs
            )
        case .cluster:
            locator = ClusterLocator(
                loop: loop,
                deployment: deployment,
                slot: key.map { HashSlot(key: $0) },
                staysWithMovingSlot: staysWithMovingSlot,
                requiresWholeSlot: requiresWholeSlot,
                tls: tls,
                patienceMs: timeouts.connectMs
            )
        }
        self.loop = loop
        endpoint = deployment.server
        self.tls = tls
        self.timeouts = timeouts
        self.limits = limits
        self.random = random
        greeting = Greeting.commands(endpoint: endpoint, name: name, mustBePrimary: locator.mustBePrimary)
        machine = RedisConnectionStateMachine(
            timeouts: timeouts,
            usesTLS: endpoint.usesTLS,
            greetings: greeting.count
        )
        turnEnd = loop.onTurnEnd { [weak self] in self?.endTurn() }
    }

    /// The longest backoff with Sentinels, in milliseconds: all workers have to reach a new primary at about the same
    /// time.
    private static let maximumBackoffMs: Int64 = 1_000

    deinit { assert(channel == nil, "close() the connection on its loop first") }

    /// Starts to connect. Call it once; the connection reconnects by itself.
    public func connect() { perform(machine.connect()) }

    /// Final. Commands in flight fail with `connectionLost`.
    public func close() {
        locator.close()
        perform(machine.close())
        if let turnEnd { loop.removeTurnEnd(turnEnd) }
        turnEnd = nil
        if let resolutions { loop.detach(resolutions.attachment) }
        resolutions = nil
    }

    /// Sends at the end of this turn; fails at once with `notConnected` when not ``RedisState/ready``, and when another
    /// server is the right one and this one only answers what it was sent.
    ///
    /// - Parameter timeoutMs: until the answer, counted again whenever bytes come, or leave after they had to wait. For
    ///   a blocking command longer than it blocks. A command that times out closes the connection.
    public func send(_ command: RedisCommand, timeoutMs: Int64? = nil, _ completion: @escaping Completion) {
        guard machine.isReady else {
            return completion(.failure(RedisError(.notConnected, "no connection to \(endpoint)")))
        }
        do throws(RedisError) {
            try append(command, timeoutMs: timeoutMs ?? timeouts.commandMs, .caller(completion))
        } catch {
            completion(.failure(error))
        }
    }

    private func append(_ command: RedisCommand, timeoutMs: Int64, _ waiter: Waiter) throws(RedisError) {
        try CommandFormatter.check(command)
        if command.byteCount > Self.large, let channel {
            let pieces = CommandPieces(command)
            channel.write(&gathered, then: pieces)
            position += UInt64(pieces.byteCount)
        } else {
            let before = gathered.count
            CommandFormatter.append(command, to: &gathered)
            position += UInt64(gathered.count - before)
        }
        // Not the turn's own time: a turn that took long, or a process that was frozen, must not use it up.
        let sentAt = SystemClock.bootNs
        let timeout = UInt64(max(0, min(timeoutMs, 1 << 40))) * 1_000_000
        pending.append(PendingCommands.Entry(waiter: waiter, sentAt: sentAt, timeout: timeout, end: position))
        armCommandTimer(sentAt + timeout)
        // Another hook of the turn's end may send after this one's has run: a timer prevents the loop from waiting.
        if turnGuard == nil { turnGuard = loop.schedule(afterNanoseconds: 0) {} }
    }

    // MARK: Performing actions

    func perform(_ actions: [RedisConnectionStateMachine.Action]) {
        for action in actions {
            switch action {
            case .resolve(let attempt): locate(attempt)
            case .open(let address): open(addresses[address])
            case .secure: secure()
            case .greet: greet()
            case .armDeadline(let milliseconds):
                armPhaseTimer(milliseconds) { $0.machine.deadlinePassed(nowMs: $0.loop.nowMs, random: $0.random()) }
            case .armBackoff(let milliseconds): armPhaseTimer(milliseconds) { $0.machine.backoffElapsed() }
            case .disarm: disarmPhaseTimer()
            case .dropSocket: dropSocket()
            case .report(let state): onStateChange(state)
            case .failPending(let error): failPending(error)
            }
        }
    }

    func lose(_ error: RedisError) { perform(machine.lost(error, nowMs: loop.nowMs, random: random())) }

    func resolve(_ attempt: UInt64) {
        switch endpoint.address {
        case .unix(let path): resolved(attempt, SocketAddress.unix(path).map { [$0] } ?? [])
        case .tcp(let host, let port):
            if let numeric = SocketAddress.numeric(host, port: port) { return resolved(attempt, [numeric]) }
            NameResolver.resolve(host, port: port, attempt: attempt, into: resolutionInbox())
        }
    }

    private func resolutionInbox() -> Inbox<Resolution> {
        if let resolutions { return resolutions.inbox }
        let inbox = Inbox<Resolution>()
        let attachment = loop.attach(inbox) { [weak self] resolution in
            guard let self else { return }
            switch resolution.result {
            case .success(let addresses): resolved(resolution.attempt, addresses)
            case .failure(let error):
                let error = RedisError(error)
                perform(machine.resolveFailed(attempt: resolution.attempt, error: error, random: random()))
            }
        }
        resolutions = (inbox, attachment)
        return inbox
    }

    private func resolved(_ attempt: UInt64, _ addresses: [SocketAddress]) {
        let actions = machine.resolved(attempt: attempt, addresses: addresses.count)
        if !actions.isEmpty { self.addresses = addresses }
        perform(actions)
    }

    private func open(_ address: SocketAddress) {
        do throws(RedisError) {
            let socket = try RedisError.from { () throws(SocketError) in
                try StreamSocket(connectingTo: address, userTimeoutMs: timeouts.userTimeoutMs)
            }
            channel = ByteChannel(socket: socket)
            reader = ReplyReader(limits: limits)
            generation += 1
            do throws(SystemError) {
                registration = try loop.register(fd: socket.fd, interest: .write) { [weak self] readiness in
                    self?.handle(readiness)
                }
            } catch {
                throw RedisError(.connectionLost, "\(error)")
            }
        } catch {
            lose(error)
        }
    }

    private func secure() {
        guard let channel, case .tcp(let host, _) = endpoint.address else { return }
        do throws(RedisError) {
            try RedisError.from { () throws(SocketError) in try channel.startTLS(files: tls, host: host) }
            try continueSecuring(channel)
        } catch {
            lose(error)
        }
    }

    func continueSecuring(_ channel: ByteChannel) throws(RedisError) {
        let isSecure = try RedisError.from { () throws(SocketError) in try channel.secure() }
        if isSecure { return perform(machine.secured()) }
        watch()
    }

    private func greet() {
        do throws(RedisError) {
            for (command, expected) in greeting {
                try append(command, timeoutMs: timeouts.connectMs, .greeting(expected: expected))
            }
        } catch {
            lose(error)
        }
    }

    private func dropSocket() {
        // The registration first: a closed descriptor's number may be another's at once.
        if let registration { loop.deregister(registration) }
        registration = nil
        if let reconsidering { loop.cancel(reconsidering) }
        reconsidering = nil
        channel?.close()
        reader?.close()
        reader = nil
        generation += 1
    }

    private func failPending(_ error: RedisError) {
        let written = channel?.written ?? 0
        channel = nil
        gathered.removeAll(keepingCapacity: gathered.capacity <= 1 << 20)
        position = 0
        if let commandTimer { loop.cancel(commandTimer.id) }
        commandTimer = nil
        // The queue is emptied before any waiter runs: a waiter may send again or close.
        for entry in pending.removeAll() {
            guard case .caller(let completion) = entry.waiter else { continue }
            let isOverdue = error.code == .timeout && entry.deadline(movedAt: movedAt) <= loop.now
            let code = isOverdue || error.code == .protocolError ? error.code : .connectionLost
            completion(.failure(RedisError(code, error.message, maybeApplied: entry.end <= written)))
        }
    }

    // MARK: Writing

    /// Sends what was gathered: Redis works on it while the rest of a long turn runs.
    public func writeNow() { endTurn() }

    private func endTurn() {
        guard let turnGuard else { return }
        loop.cancel(turnGuard)
        self.turnGuard = nil
        guard let channel, !gathered.isEmpty || channel.hasUnsentBytes else { return }
        do throws(RedisError) {
            try RedisError.from { () throws(SocketError) in try channel.write(&gathered) }
            try flush(channel)
            watch()
        } catch {
            let reason = unreadAlert(of: channel) ?? error
            // A receiver of the last replies may have closed the connection.
            if channel === self.channel { lose(reason) }
        }
    }

    /// - Returns: how many bytes the kernel took.
    @discardableResult
    func flush(_ channel: ByteChannel) throws(RedisError) -> Int {
        try RedisError.from { () throws(SocketError) in try channel.flush() }
    }

    /// The TLS alert that a failed write has hidden; nil when there is none. A server that refuses a certificate sends an
    /// alert and closes: the next write fails before the alert is read.
    private func unreadAlert(of channel: ByteChannel) -> RedisError? {
        do throws(RedisError) {
            try read(channel)
            return nil
        } catch {
            return error.code == .tls ? error : nil
        }
    }

    /// Watches for writability only while bytes wait, or the loop would spin.
    func watch() {
        guard let registration, let channel else { return }
        loop.update(registration, interest: channel.hasUnsentBytes ? [.read, .write] : .read)
    }

    // MARK: Timers

    private func armPhaseTimer(
        _ milliseconds: Int64,
        _ elapsed: @escaping (RedisConnection) -> [RedisConnectionStateMachine.Action]
    ) {
        disarmPhaseTimer()
        phaseTimer = loop.schedule(afterMilliseconds: milliseconds) { [weak self] in
            guard let self else { return }
            phaseTimer = nil
            perform(elapsed(self))
        }
    }

    private func disarmPhaseTimer() {
        if let phaseTimer { loop.cancel(phaseTimer) }
        phaseTimer = nil
    }

    /// One timer for all commands, at the earliest deadline known; it finds the next one when it fires.
    private func armCommandTimer(_ deadline: UInt64) {
        if let commandTimer {
            guard deadline < commandTimer.at else { return }
            loop.cancel(commandTimer.id)
        }
        let delay = deadline - min(deadline, loop.now)
        let id = loop.schedule(afterNanoseconds: delay) { [weak self] in self?.commandTimerFired() }
        commandTimer = (id, deadline)
    }

    private func commandTimerFired() {
        commandTimer = nil
        guard let earliest = pending.earliestDeadline(movedAt: movedAt) else { return }
        guard earliest <= loop.now else { return armCommandTimer(earliest) }
        lose(RedisError(.timeout, "no answer from \(endpoint) in time"))
    }
}
