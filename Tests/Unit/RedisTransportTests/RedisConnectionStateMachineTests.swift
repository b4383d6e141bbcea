import Testing

@testable import RedisTransport

@Suite struct RedisConnectionStateMachineTests {
    private typealias Machine = RedisConnectionStateMachine
    private static let broken = RedisError(.connectionLost, "closed by the server")

    private func machine(tls: Bool = false, greetings: Int = 1) -> Machine {
        Machine(timeouts: RedisTimeouts(), usesTLS: tls, greetings: greetings)
    }

    private func ready() -> Machine {
        var machine = machine()
        _ = machine.connect()
        _ = machine.resolved(attempt: 1, addresses: 1)
        _ = machine.opened()
        _ = machine.greeted(failure: nil, nowMs: 0, random: 0)
        return machine
    }

    private func pause(_ actions: [Machine.Action]) -> Int64? {
        for case .armBackoff(let milliseconds) in actions { return milliseconds }
        return nil
    }

    @Test func connectionWithoutTLSBecomesReady() {
        var machine = machine(greetings: 2)
        #expect(machine.connect() == [.report(.connecting), .armDeadline(milliseconds: 5_000), .resolve(attempt: 1)])
        #expect(machine.resolved(attempt: 1, addresses: 2) == [.armDeadline(milliseconds: 1_000), .open(address: 0)])
        #expect(machine.opened() == [.armDeadline(milliseconds: 5_000), .greet])
        #expect(machine.greeted(failure: nil, nowMs: 1, random: 0) == [])
        #expect(!machine.isReady)
        #expect(machine.greeted(failure: nil, nowMs: 1, random: 0) == [.disarm, .report(.ready)])
        #expect(machine.isReady)
    }

    @Test func connectionWithTLSBecomesReady() {
        var machine = machine(tls: true)
        _ = machine.connect()
        _ = machine.resolved(attempt: 1, addresses: 1)
        #expect(machine.opened() == [.secure])
        #expect(machine.secured() == [.greet])
    }

    @Test func everyAddressIsTriedBeforeTheAttemptFails() {
        var machine = machine()
        _ = machine.connect()
        _ = machine.resolved(attempt: 1, addresses: 2)
        #expect(
            machine.lost(Self.broken, nowMs: 0, random: 0)
                == [.dropSocket, .armDeadline(milliseconds: 5_000), .open(address: 1)]
        )
        #expect(pause(machine.lost(Self.broken, nowMs: 0, random: 0)) == 50)
        #expect(machine.state == .unavailable(Self.broken))
    }

    @Test func anAddressThatIsSilentLeavesTimeForTheNext() {
        var machine = machine(tls: true)
        _ = machine.connect()
        _ = machine.resolved(attempt: 1, addresses: 3)
        #expect(
            machine.deadlinePassed(nowMs: 0, random: 0)
                == [.dropSocket, .armDeadline(milliseconds: 1_000), .open(address: 1)]
        )
        #expect(
            machine.deadlinePassed(nowMs: 0, random: 0)
                == [.dropSocket, .armDeadline(milliseconds: 5_000), .open(address: 2)]
        )
        #expect(machine.opened() == [.secure])
    }

    @Test func aLateLookUpIsIgnored() {
        var machine = machine()
        _ = machine.connect()
        _ = machine.deadlinePassed(nowMs: 5_000, random: 0)
        #expect(machine.resolved(attempt: 1, addresses: 1) == [])
        _ = machine.backoffElapsed()
        #expect(machine.resolved(attempt: 1, addresses: 1) == [])
        #expect(machine.resolveFailed(attempt: 1, error: Self.broken, random: 0) == [])
        #expect(machine.resolved(attempt: 2, addresses: 1).last == .open(address: 0))
    }

    @Test func pausesGrowFromFiftyMillisecondsToFiveSecondsWithFullJitter() {
        for (random, expected) in [
            (0.0, [50, 50, 50, 50, 50, 50, 50, 50] as [Int64]),
            (1.0, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]),
        ] {
            var machine = machine()
            _ = machine.connect()
            for pause in expected {
                #expect(self.pause(machine.lost(Self.broken, nowMs: 0, random: random)) == pause)
                _ = machine.backoffElapsed()
            }
            for _ in 0..<100 {
                let pause = self.pause(machine.lost(Self.broken, nowMs: 0, random: random))
                #expect(pause == expected.last)
                _ = machine.backoffElapsed()
            }
        }
    }

    @Test func onlyAConnectionThatHeldStartsTheBackoffAnew() {
        for (heldMs, expected) in [(4_999, 200), (5_000, 100)] as [(Int64, Int64)] {
            var machine = machine()
            _ = machine.connect()
            _ = machine.lost(Self.broken, nowMs: 0, random: 1)
            _ = machine.backoffElapsed()
            _ = machine.resolved(attempt: 2, addresses: 1)
            _ = machine.opened()
            _ = machine.greeted(failure: nil, nowMs: 1_000, random: 1)
            #expect(pause(machine.lost(Self.broken, nowMs: 1_000 + heldMs, random: 1)) == expected)
        }
    }

    @Test(arguments: [
        ("LOADING Redis is loading", false), ("MASTERDOWN Link down", false), ("BUSY Redis is busy", false),
        ("MISCONF Redis is configured", false), ("ERR max number of clients reached", false),
        ("NOAUTH Authentication required.", true), ("WRONGPASS invalid", true), ("NOPERM no permissions", true),
        ("ERR invalid DB index", true), ("DENIED Redis is running in protected mode", true),
    ])
    func aRefusedGreetingIsUnavailableOrAFailure(_ line: String, _ isFailure: Bool) {
        let error = RedisError(reply: line)
        var machine = machine(greetings: 2)
        _ = machine.connect()
        _ = machine.resolved(attempt: 1, addresses: 1)
        _ = machine.opened()
        _ = machine.greeted(failure: error, nowMs: 0, random: 0)
        var hangingUp = machine
        let second = RedisError(reply: "NOAUTH Authentication required.")
        let actions = machine.greeted(failure: second, nowMs: 0, random: 0)
        #expect(machine.state == (isFailure ? .failed(error) : .unavailable(error)))
        #expect(pause(actions) == (isFailure ? 5_000 : 50))
        // A server that hangs up after the first refusal is understood the same.
        _ = hangingUp.lost(Self.broken, nowMs: 0, random: 0)
        #expect(hangingUp.state == machine.state)
    }

    @Test func onlyARoleChangeAmongErrorsEndsAReadyConnection() {
        for word in ["READONLY", "MASTERDOWN", "UNBLOCKED"] {
            var machine = ready()
            let error = RedisError(reply: "\(word) text")
            let actions = machine.commandFailed(error, nowMs: 0, random: 0)
            #expect(actions.first == .dropSocket)
            #expect(actions.last == .failPending(error))
        }
        for word in ["LOADING", "BUSY", "OOM", "MISCONF", "NOSCRIPT", "NOGROUP", "NOPERM", "NOAUTH", "ERR", "MOVED"] {
            var machine = ready()
            #expect(machine.commandFailed(RedisError(reply: "\(word) text"), nowMs: 0, random: 0) == [])
            #expect(machine.isReady)
        }
    }

    /// Every state, with the events that mean nothing in it.
    @Test func eventsOutOfPlaceChangeNothing() {
        var states: [(String, Machine)] = [("idle", machine())]
        var machine = machine(tls: true)
        _ = machine.connect()
        states.append(("resolving", machine))
        _ = machine.resolved(attempt: 1, addresses: 1)
        states.append(("opening", machine))
        _ = machine.opened()
        states.append(("securing", machine))
        _ = machine.secured()
        states.append(("greeting", machine))
        _ = machine.greeted(failure: nil, nowMs: 0, random: 0)
        states.append(("ready", machine))
        var leaving = machine
        _ = leaving.commandFailed(RedisError(.readOnly, "READONLY"), hasMore: true, nowMs: 0, random: 0)
        states.append(("leaving", leaving))
        _ = machine.lost(Self.broken, nowMs: 0, random: 0)
        states.append(("waiting", machine))
        _ = machine.close()
        states.append(("closed", machine))
        let events: [(String, Set<String>, (inout Machine) -> [Machine.Action])] = [
            ("connect", ["idle"], { $0.connect() }),
            ("resolved", ["resolving"], { $0.resolved(attempt: 1, addresses: 1) }),
            ("opened", ["opening"], { $0.opened() }),
            ("secured", ["securing"], { $0.secured() }),
            ("greeted", ["greeting"], { $0.greeted(failure: nil, nowMs: 0, random: 0) }),
            (
                "deadline", ["resolving", "opening", "securing", "greeting"],
                { $0.deadlinePassed(nowMs: 0, random: 0) }
            ),
            ("backoff", ["waiting"], { $0.backoffElapsed() }),
            (
                "lost", ["resolving", "opening", "securing", "greeting", "ready", "leaving"],
                { $0.lost(Self.broken, nowMs: 0, random: 0) }
            ),
            (
                "command failed", ["ready"],
                { $0.commandFailed(RedisError(.readOnly, "READONLY"), nowMs: 0, random: 0) }
            ),
            ("answered", ["leaving"], { $0.answered(nowMs: 0, random: 0) }),
            (
                "close", ["idle", "resolving", "opening", "securing", "greeting", "ready", "leaving", "waiting"],
                { $0.close() }
            ),
        ]
        for (state, machine) in states {
            for (event, meant, apply) in events {
                var copy = machine
                let actions = apply(&copy)
                #expect(actions.isEmpty == !meant.contains(state), "\(event) in \(state)")
                if actions.isEmpty { #expect(copy.state == machine.state, "\(event) in \(state)") }
            }
        }
    }

    @Test func aCommandThatBelongsElsewhereEndsTheConnection() {
        var machine = ready()
        let moved = RedisError(reply: "MOVED 1 127.0.0.1:2")
        #expect(machine.commandFailed(moved, nowMs: 0, random: 0) == [], "where there is nowhere else")
        let actions = machine.commandFailed(moved, isElsewhere: true, nowMs: 0, random: 0)
        #expect(actions.first == .dropSocket)
        #expect(actions.contains(.report(.unavailable(moved))))
        #expect(pause(actions) == 50)
    }

    @Test func aConnectionLeavesWithTheLastAnswer() {
        let moved = RedisError(reply: "MOVED 1 127.0.0.1:2")
        var machine = ready()
        #expect(machine.commandFailed(moved, isElsewhere: true, hasMore: true, nowMs: 0, random: 0) == [])
        #expect(!machine.isReady && machine.state == .ready, "nothing new is sent, and nobody is told yet")
        #expect(machine.commandFailed(moved, isElsewhere: true, hasMore: true, nowMs: 0, random: 0) == [])
        var hangingUp = machine
        let actions = machine.answered(nowMs: 6_000, random: 1)
        #expect(actions.first == .dropSocket)
        #expect(actions.contains(.report(.unavailable(moved))))
        #expect(pause(actions) == 100)
        #expect(machine.answered(nowMs: 6_000, random: 1) == [])
        // The waiters fail with their own reason, the state shows why the connection ended.
        let cut = hangingUp.lost(Self.broken, nowMs: 0, random: 0)
        #expect(cut.contains(.report(.unavailable(moved))))
        #expect(cut.last == .failPending(Self.broken))
    }

    @Test func closeFailsWaitersLast() {
        var machine = ready()
        let actions = machine.close()
        #expect(actions.first == .dropSocket)
        #expect(actions.contains(.report(.closed)))
        #expect(actions.last == .failPending(RedisError(.connectionLost, "closed by us")))
    }
}
