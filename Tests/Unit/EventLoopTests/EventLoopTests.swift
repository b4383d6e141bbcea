import EventLoop
import Glibc
import Testing

@Suite struct EventLoopTests {
    /// Runs `build` on a loop of its own and waits until it has stopped.
    private func run(_ build: @escaping @Sendable (EventLoop) -> Void) throws {
        let thread = try LoopThread(name: "test-loop", build: build)
        thread.join()
    }

    @Test func messageSentBeforeTheLoopExistsIsDelivered() throws {
        let inbox = Inbox<Int>()
        inbox.send(7)
        let got = Locked<[Int]>([])
        try run { loop in
            loop.attach(inbox) { message in
                got.withLock { $0.append(message) }
                loop.stop()
            }
        }
        #expect(got.withLock { $0 } == [7])
    }

    @Test func detachedInboxIsNotDrained() throws {
        let (gone, kept) = (Inbox<Int>(), Inbox<Int>())
        let got = Locked<[Int]>([])
        try run { loop in
            let attachment = loop.attach(gone) { message in got.withLock { $0.append(message) } }
            loop.attach(kept) { message in
                got.withLock { $0.append(message) }
                loop.stop()
            }
            loop.detach(attachment)
            gone.send(1)
            kept.send(2)
        }
        #expect(got.withLock { $0 } == [2])
    }

    @Test func messagesFromManyThreadsArriveInEachThreadsOrder() throws {
        let inbox = Inbox<(thread: Int, number: Int)>()
        let got = Locked<[[Int]]>([[], [], [], []])
        let senders = try (0..<4).map { index in
            try LoopThread(name: "sender") { loop in
                for number in 0..<5_000 { inbox.send((index, number)) }
                loop.stop()
            }
        }
        let count = Locked(0)
        try run { loop in
            loop.attach(inbox) { message in
                got.withLock { $0[message.thread].append(message.number) }
                if count.withLock({
                    $0 += 1; return $0
                }) == 20_000 {
                    loop.stop()
                }
            }
        }
        for sender in senders { sender.join() }
        #expect(got.withLock { $0 } == Array(repeating: Array(0..<5_000), count: 4))
    }

    @Test func timersRunOnTimeAndHooksOnceATurn() throws {
        let times = Locked<(start: UInt64, ran: UInt64, hooks: Int)>((0, 0, 0))
        try run { loop in
            times.withLock { $0.start = SystemClock.bootNs }
            loop.onTurnEnd { times.withLock { $0.hooks += 1 } }
            loop.schedule(afterMilliseconds: 20) {
                times.withLock { $0.ran = SystemClock.bootNs }
                loop.stop()
            }
        }
        let result = times.withLock { $0 }
        #expect(result.ran - result.start >= 19_000_000)
        #expect(result.hooks >= 1)
    }

    @Test func repeatingTimerRunsUntilItsBodyCancelsIt() throws {
        let runs = Locked(0)
        try run { loop in
            var timer: TimerID?
            timer = loop.every(milliseconds: 2) {
                let count = runs.withLock { count in
                    count += 1
                    return count
                }
                if count == 3, let timer { loop.cancel(timer) }
            }
            loop.schedule(afterMilliseconds: 40) { loop.stop() }
        }
        #expect(runs.withLock { $0 } == 3)
    }

    @Test func eventOfADescriptorReusedInTheSameTurnIsSkipped() throws {
        let stale = Locked(0)
        try run { loop in
            var first: [Int32] = [0, 0]
            var second: [Int32] = [0, 0]
            guard pipe(&first) == 0, pipe(&second) == 0 else { return loop.stop() }
            var byte: UInt8 = 1
            var ids: [RegistrationID] = []
            let descriptors = [first[0], second[0]]
            for (index, fd) in descriptors.enumerated() {
                let id = try? loop.register(fd: fd, interest: .read) { _ in
                    // Whichever comes first takes the other away, although the other is ready in this very turn.
                    let other = 1 - index
                    stale.withLock { $0 += 1 }
                    loop.deregister(ids[other])
                    loop.deregister(ids[index])
                    loop.stop()
                }
                if let id { ids.append(id) }
            }
            _ = write(first[1], &byte, 1)
            _ = write(second[1], &byte, 1)
        }
        #expect(stale.withLock { $0 } == 1)
    }

    @Test func registeringABadDescriptorThrows() throws {
        let code = Locked<Int32>(0)
        try run { loop in
            do throws(SystemError) {
                _ = try loop.register(fd: 9_999, interest: .read) { _ in }
            } catch {
                code.withLock { $0 = error.code }
            }
            loop.stop()
        }
        #expect(code.withLock { $0 } == EBADF)
    }
}
