import StreamWire
import Testing

@testable import FanfareCore

/// Each state of a project's quarantine by each operation.
@Suite struct ProjectQuarantineTests {
    private static let second: UInt64 = 1_000_000_000

    private static func quarantine(_ state: ProjectQuarantine.State) -> ProjectQuarantine {
        var quarantine = ProjectQuarantine()
        switch state {
        case .none: break
        case .emptying: quarantine.empty()
        case .waiting(let mode): quarantine.wait(for: mode)
        case .held(let mode):
            quarantine.wait(for: mode)
            _ = quarantine.begin(mode)
        }
        return quarantine
    }

    @Test(arguments: [
        (ProjectQuarantine.State.none, false), (.emptying, false), (.waiting(.shared), true),
        (.waiting(.exclusive), true), (.held(.shared), false), (.held(.exclusive), false),
    ])
    func quarantineBeginsOnlyForOneThatWaits(state: ProjectQuarantine.State, begins: Bool) {
        var quarantine = Self.quarantine(state)
        #expect(quarantine.state == state)
        #expect(quarantine.begin(.exclusive) == begins)
        #expect(quarantine.state == (begins ? .held(.exclusive) : state))
    }

    @Test(arguments: [
        (ProjectQuarantine.State.none, false), (.emptying, false), (.waiting(.shared), true),
        (.waiting(.exclusive), true), (.held(.shared), true), (.held(.exclusive), true),
    ])
    func gateIsToldWhereItWasAsked(state: ProjectQuarantine.State, isTold: Bool) {
        var quarantine = Self.quarantine(state)
        #expect(quarantine.leave(now: 0) == isTold)
        #expect(quarantine.state == .none && !quarantine.isHeld)
    }

    /// Other projects wait 10 s for a batch with four deaths or fewer, and twice as long after each further one, up to 64
    /// times.
    @Test(arguments: [(0, 10), (4, 10), (5, 20), (7, 80), (10, 640), (30, 640)])
    func exclusiveQuarantineEndsAfterATime(crashes: Int, seconds: UInt64) {
        var quarantine = Self.quarantine(.held(.exclusive))
        #expect(!quarantine.isOver(now: .max - 1))
        quarantine.limit(crashes: crashes, now: Self.second)
        let end = Self.second + seconds * Self.second
        #expect(!quarantine.isOver(now: end - 1) && quarantine.isOver(now: end))
        _ = quarantine.leave(now: 0)
        #expect(!quarantine.isOver(now: end))
    }

    /// The worker's other batches may be what a guard waits for.
    @Test func quarantineThatYieldedBeginsTwoSecondsLater() {
        var quarantine = Self.quarantine(.held(.shared))
        _ = quarantine.leave(now: Self.second)
        #expect(quarantine.mayBegin(now: Self.second))
        quarantine.wait(for: .shared)
        quarantine.yield()
        _ = quarantine.leave(now: Self.second)
        #expect(!quarantine.mayBegin(now: 3 * Self.second - 1) && quarantine.mayBegin(now: 3 * Self.second))
    }

    @Test func sharedQuarantineHasNoEnd() {
        var quarantine = Self.quarantine(.held(.shared))
        quarantine.limit(crashes: 4, now: 0)
        #expect(quarantine.isHeld && !quarantine.isOver(now: .max - 1))
    }
}
