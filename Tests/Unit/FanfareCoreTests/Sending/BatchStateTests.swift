import FanfareModel
import Testing

@testable import FanfareCore

/// Every pair of a state and an event has its row: a next state, or nil where the machine itself cannot produce the event.
@Suite struct BatchStateTests {
    typealias Row = (state: BatchState, event: BatchState.Event, next: BatchState?)

    static let states: [BatchState] = [
        .preparing(ending: nil), .preparing(ending: .cancelled), .sending, .stopping, .ending(.cancelled),
        .lost(.taken),
        .lost(.forgotten), .lost(.leaseLost), .closed, .released,
    ]
    static let events: [BatchState.Event] = [
        .prepared, .stop, .end(.expired), .lose(.forgotten), .close, .release,
    ]

    static let rows: [Row] = [
        (.preparing(ending: nil), .prepared, .sending),
        (.preparing(ending: nil), .stop, .released),
        (.preparing(ending: nil), .end(.expired), .preparing(ending: .expired)),
        (.preparing(ending: nil), .lose(.forgotten), .lost(.forgotten)),
        (.preparing(ending: nil), .close, nil),
        (.preparing(ending: nil), .release, nil),

        (.preparing(ending: .cancelled), .prepared, .ending(.cancelled)),
        (.preparing(ending: .cancelled), .stop, .released),
        (.preparing(ending: .cancelled), .end(.expired), .preparing(ending: .expired)),
        (.preparing(ending: .cancelled), .lose(.forgotten), .lost(.forgotten)),
        (.preparing(ending: .cancelled), .close, nil),
        (.preparing(ending: .cancelled), .release, nil),

        (.sending, .prepared, nil),
        (.sending, .stop, .stopping),
        (.sending, .end(.expired), .ending(.expired)),
        (.sending, .lose(.forgotten), .lost(.forgotten)),
        (.sending, .close, .closed),
        (.sending, .release, nil),

        (.stopping, .prepared, nil),
        (.stopping, .stop, .stopping),
        (.stopping, .end(.expired), .ending(.expired)),
        (.stopping, .lose(.forgotten), .lost(.forgotten)),
        (.stopping, .close, .closed),
        (.stopping, .release, .released),

        (.ending(.cancelled), .prepared, nil),
        (.ending(.cancelled), .stop, .ending(.cancelled)),
        (.ending(.cancelled), .end(.expired), .ending(.expired)),
        (.ending(.cancelled), .lose(.forgotten), .lost(.forgotten)),
        (.ending(.cancelled), .close, .closed),
        (.ending(.cancelled), .release, nil),

        (.lost(.taken), .prepared, nil),
        (.lost(.taken), .stop, .lost(.taken)),
        (.lost(.taken), .end(.expired), .lost(.taken)),
        (.lost(.taken), .lose(.forgotten), .lost(.taken)),
        (.lost(.taken), .close, .closed),
        (.lost(.taken), .release, nil),

        (.lost(.forgotten), .prepared, nil),
        (.lost(.forgotten), .stop, .lost(.forgotten)),
        (.lost(.forgotten), .end(.expired), .lost(.forgotten)),
        (.lost(.forgotten), .lose(.forgotten), .lost(.forgotten)),
        (.lost(.forgotten), .close, .closed),
        (.lost(.forgotten), .release, nil),

        (.lost(.leaseLost), .prepared, nil),
        (.lost(.leaseLost), .stop, .lost(.leaseLost)),
        (.lost(.leaseLost), .end(.expired), .lost(.leaseLost)),
        (.lost(.leaseLost), .lose(.forgotten), .lost(.leaseLost)),
        (.lost(.leaseLost), .close, .closed),
        (.lost(.leaseLost), .release, nil),

        (.closed, .prepared, nil),
        (.closed, .stop, .closed),
        (.closed, .end(.expired), .closed),
        (.closed, .lose(.forgotten), .closed),
        (.closed, .close, nil),
        (.closed, .release, nil),

        (.released, .prepared, nil),
        (.released, .stop, .released),
        (.released, .end(.expired), .released),
        (.released, .lose(.forgotten), .released),
        (.released, .close, nil),
        (.released, .release, nil),
    ]

    @Test func everyPairHasOneRow() {
        #expect(Self.rows.count == Self.states.count * Self.events.count)
        for state in Self.states {
            for event in Self.events {
                #expect(Self.rows.count { $0.state == state && $0.event == event } == 1, "\(state) \(event)")
            }
        }
    }

    @Test func eachRowLeadsToItsState() {
        for (state, event, next) in Self.rows {
            guard let next else { continue }
            #expect(state.after(event) == next, "\(state) \(event)")
        }
    }

    /// By their places in the table: an exit test takes nothing else along.
    static let traps = rows.indices.filter { rows[$0].next == nil }

    @Test(arguments: traps)
    func aRowWithoutAStateTraps(row: Int) async {
        await #expect(processExitsWith: .failure) { [row] in
            let (state, event, _) = Self.rows[row]
            _ = state.after(event)
        }
    }

    @Test func aLastStateIsLeftByNothing() {
        for (state, _, next) in Self.rows where state == .closed || state == .released {
            #expect(next == nil || next == state)
        }
    }

    @Test(
        arguments: [
            (BatchState.preparing(ending: nil), false, false, nil),
            (.preparing(ending: .expired), false, false, .expired),
            (.sending, false, false, nil), (.stopping, false, false, nil),
            (.ending(.cancelled), false, false, .cancelled),
            (.lost(.taken), true, true, nil), (.closed, false, true, nil), (.released, false, true, nil),
        ] as [(BatchState, Bool, Bool, ResultStatus?)]
    )
    func propertiesFollowFromTheState(state: BatchState, isLost: Bool, isOver: Bool, ending: ResultStatus?) {
        #expect(state.isLost == isLost && state.isOver == isOver && state.endingStatus == ending)
    }
}
