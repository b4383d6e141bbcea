internal import CLinux
internal import Glibc

/// Events for which a descriptor is watched.
public struct Interest: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let read = Interest(rawValue: 1)
    public static let write = Interest(rawValue: 2)
}

/// The state of a watched descriptor in this turn.
public struct Readiness: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let readable = Readiness(rawValue: 1)
    public static let writable = Readiness(rawValue: 2)
    /// An error or a hang-up: the next read or write returns it.
    public static let failed = Readiness(rawValue: 4)
}

/// Names one registration of a descriptor. Never reused, so an event for a descriptor that was closed and opened
/// again within the same turn is recognised and skipped.
public struct RegistrationID: Hashable, Sendable { let value: UInt64 }

/// Names one hook of the turn's end. Never reused.
public final class TurnEndID {
    /// Among the loop's hooks; -1 once it is removed.
    fileprivate var place: Int

    fileprivate init(place: Int) { self.place = place }
}

/// Names one inbox that the loop empties. Never reused.
public struct AttachmentID: Hashable, Sendable { let value: UInt64 }

/// One thread with one epoll. Everything that belongs to a loop is created, used and closed on the thread that runs it.
///
/// A turn waits for descriptors and timers, runs their handlers, drains the inboxes, then runs the hooks of the turn's
/// end. The hooks pump libraries and write gathered bytes in one call. Not `Sendable` on purpose: only ``Inbox``
/// crosses threads.
public final class EventLoop {
    private struct Watch {
        let fd: Int32
        var interest: Interest
        let handler: (Readiness) -> Void
    }

    private let epoll: Int32
    private let wakeup: Wakeup
    private var watches: [UInt64: Watch] = [:]
    private var nextID: UInt64 = 1
    private var timers = TimerQueue()
    private var drains: [(id: UInt64, body: () -> Bool)] = []
    /// Whether an inbox has woken the loop, or holds more than a turn takes.
    private var inboxesHoldMore = false
    private var turnEnds: [TurnEnd] = []
    private var hasRemovedTurnEnds = false
    private var stopping = false

    /// Nanoseconds since boot, read once a turn: the clock is never set, and counts while the machine sleeps. Use
    /// ``SystemClock/bootNs`` where the length of a turn matters.
    public private(set) var now: UInt64
    /// ``now`` in milliseconds.
    public var nowMs: Int64 { Int64(now / 1_000_000) }

    public init() throws(SystemError) {
        epoll = clinux_epoll_create()
        guard epoll >= 0 else { throw SystemError(call: "epoll_create1", code: errno) }
        do throws(SystemError) {
            wakeup = try Wakeup()
        } catch {
            _ = Glibc.close(epoll)
            throw error
        }
        now = SystemClock.bootNs
        let id = UInt64.max
        guard clinux_epoll_ctl(epoll, EPOLL_CTL_ADD, wakeup.fd, EPOLLIN.rawValue, id) == 0 else {
            throw SystemError(call: "epoll_ctl", code: errno)
        }
    }

    deinit { _ = Glibc.close(epoll) }

    // MARK: Descriptors

    /// Watches `fd` level-triggered. The caller still owns the descriptor and deregisters it before closing it.
    public func register(
        fd: Int32,
        interest: Interest,
        handler: @escaping (Readiness) -> Void
    ) throws(SystemError) -> RegistrationID {
        let id = nextID
        nextID += 1
        guard clinux_epoll_ctl(epoll, EPOLL_CTL_ADD, fd, Self.mask(interest), id) == 0 else {
            throw SystemError(call: "epoll_ctl", code: errno)
        }
        watches[id] = Watch(fd: fd, interest: interest, handler: handler)
        return RegistrationID(value: id)
    }

    public func update(_ id: RegistrationID, interest: Interest) {
        guard var watch = watches[id.value], watch.interest != interest else { return }
        watch.interest = interest
        watches[id.value] = watch
        // A library may have closed the descriptor already: deregistering follows, so the error is ignored.
        _ = clinux_epoll_ctl(epoll, EPOLL_CTL_MOD, watch.fd, Self.mask(interest), id.value)
    }

    /// Safe to call after the descriptor was closed by its library: EBADF and ENOENT are what that looks like.
    public func deregister(_ id: RegistrationID) {
        guard let watch = watches.removeValue(forKey: id.value) else { return }
        _ = clinux_epoll_ctl(epoll, EPOLL_CTL_DEL, watch.fd, 0, 0)
    }

    // MARK: Timers

    /// Runs `body` once, no earlier than `delay` nanoseconds from the start of this turn.
    @discardableResult
    public func schedule(afterNanoseconds delay: UInt64, _ body: @escaping () -> Void) -> TimerID {
        timers.add(at: now &+ min(delay, UInt64(Int64.max) / 2), body)
    }

    @discardableResult
    public func schedule(afterMilliseconds delay: Int64, _ body: @escaping () -> Void) -> TimerID {
        schedule(afterNanoseconds: UInt64(max(0, min(delay, 1 << 40))) * 1_000_000, body)
    }

    /// Runs `body` again and again until ``cancel(_:)``: first after `interval`, then an interval after the turn of
    /// each run began.
    ///
    /// - Parameter interval: milliseconds; less than 1 counts as 1.
    @discardableResult
    public func every(milliseconds interval: Int64, _ body: @escaping () -> Void) -> TimerID {
        let interval = UInt64(max(1, min(interval, 1 << 40))) * 1_000_000
        return timers.add(at: now &+ interval, interval: interval, body)
    }

    /// Safe to call twice, and from the timer's own body.
    public func cancel(_ id: TimerID) { timers.cancel(id) }

    // MARK: Turns

    /// Adds a hook that runs at the end of every turn, in the order of adding, until it is removed or the loop is gone.
    @discardableResult
    public func onTurnEnd(_ body: @escaping () -> Void) -> TurnEndID { addTurnEnd(isLasting: true, body) }

    /// Adds a hook that runs at the end of each turn in which it was armed. Thousands of them cost a turn next to nothing.
    @discardableResult
    public func onArmedTurnEnd(_ body: @escaping () -> Void) -> TurnEndID { addTurnEnd(isLasting: false, body) }

    private func addTurnEnd(isLasting: Bool, _ body: @escaping () -> Void) -> TurnEndID {
        let id = TurnEndID(place: turnEnds.count)
        turnEnds.append(TurnEnd(id: id, isArmed: isLasting, isLasting: isLasting, body: body))
        return id
    }

    /// Has the hook run at the end of this turn; when the hooks of this turn have begun, possibly of the next one.
    public func arm(_ id: TurnEndID) { if id.place >= 0 { turnEnds[id.place].isArmed = true } }

    /// Safe to call twice, and from the hook's own body.
    public func removeTurnEnd(_ id: TurnEndID) {
        guard id.place >= 0 else { return }
        turnEnds[id.place].isRemoved = true
        hasRemovedTurnEnds = true
        id.place = -1
    }

    private func runTurnEnds() {
        if hasRemovedTurnEnds {
            turnEnds.removeAll(where: \.isRemoved)
            for place in turnEnds.indices { turnEnds[place].id.place = place }
            hasRemovedTurnEnds = false
        }
        var place = 0
        while place < turnEnds.count {
            if turnEnds[place].isArmed, !turnEnds[place].isRemoved {
                turnEnds[place].isArmed = turnEnds[place].isLasting
                turnEnds[place].body()
            }
            place += 1
        }
    }

    private struct TurnEnd {
        let id: TurnEndID
        var isArmed: Bool
        let isLasting: Bool
        var isRemoved = false
        let body: () -> Void
    }

    /// Connects an inbox: its messages are handed to `receive` on this loop, a bounded number in each turn, until it is
    /// detached or the loop is gone.
    @discardableResult
    public func attach<Message: Sendable>(
        _ inbox: Inbox<Message>,
        _ receive: @escaping (Message) -> Void
    ) -> AttachmentID {
        inbox.connect(wakeup)
        nextID += 1
        let drain = {
            let (batch, more) = inbox.removeFirst(limit: 256)
            for message in batch { receive(message) }
            return more
        }
        drains.append((nextID, drain))
        return AttachmentID(value: nextID)
    }

    /// In the turn in which it is detached an inbox may be emptied once more.
    public func detach(_ id: AttachmentID) { drains.removeAll { $0.id == id.value } }

    /// Runs turns until ``stop()``. Returns on the calling thread, which owns the loop for as long as it runs. May be
    /// called again.
    public func run() {
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        while !stopping {
            let count = wait(into: &events, poll: inboxesHoldMore)
            now = SystemClock.bootNs
            for index in 0..<count { dispatch(events[index]) }
            runDue()
        }
        stopping = false
    }

    private func runDue() {
        let horizon = timers.horizon
        while let body = timers.popDue(now, before: horizon) { body() }
        if inboxesHoldMore {
            inboxesHoldMore = false
            for drain in drains where drain.body() { inboxesHoldMore = true }
        }
        runTurnEnds()
    }

    /// Runs the turns of the next milliseconds without waiting for them: ``now`` is each timer's time. For tests, in the
    /// place of ``run()``; descriptors are not watched.
    func advance(milliseconds: Int64 = 0) {
        let end = now + UInt64(milliseconds) * 1_000_000
        var isDue = true
        while isDue {
            now = max(now, min(timers.nextDeadline ?? end, end))
            inboxesHoldMore = true
            runDue()
            isDue = inboxesHoldMore || now < end || (timers.nextDeadline ?? .max) <= end
        }
    }

    /// Ends ``run()`` after the current turn. Called on the loop.
    public func stop() { stopping = true }

    /// A call of its own, so that profiles show waiting apart from work.
    @inline(never)
    private func wait(into events: inout [epoll_event], poll: Bool) -> Int {
        var timeout: Int64 = -1
        if poll || stopping {
            timeout = 0
        } else if let next = timers.nextDeadline {
            let clock = SystemClock.bootNs
            timeout = next > clock ? Int64(next - clock) : 0
        }
        let count = clinux_epoll_wait(epoll, &events, Int32(events.count), timeout)
        return max(0, Int(count))
    }

    private func dispatch(_ event: epoll_event) {
        var event = event
        let id = clinux_event_data(&event)
        if id == UInt64.max {
            inboxesHoldMore = true
            return wakeup.clear()
        }
        guard let watch = watches[id] else { return }
        let mask = clinux_event_mask(&event)
        var readiness: Readiness = []
        if mask & EPOLLIN.rawValue != 0 { readiness.insert(.readable) }
        if mask & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
        if mask & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { readiness.insert(.failed) }
        watch.handler(readiness)
    }

    private static func mask(_ interest: Interest) -> UInt32 {
        (interest.contains(.read) ? EPOLLIN.rawValue : 0) | (interest.contains(.write) ? EPOLLOUT.rawValue : 0)
    }
}
