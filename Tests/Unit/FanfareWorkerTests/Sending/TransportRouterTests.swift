import FCMWire
import FanfareCore
import FanfareModel
import Testing

@testable import FanfareWorker

/// A channel that exists here only: the router needs to know nothing of it but its route.
@Suite struct TransportRouterTests {
    private static let route = Route(7)

    private let router = TransportRouter()
    private let channel = FakeChannel()

    @Test func aRequestGoesToTheChannelOfItsRouteAndItsAnswerComesBack() {
        var seen: [RequestOutcome] = []
        var answers: [Int] = []
        router.add(channel, for: Self.route) { seen.append($0) }
        router.onCompletion = { tag, _ in
            #expect(seen.count == 1, "the outcome is observed before it is judged")
            answers.append(tag)
        }
        router.send(tag: 5, WireRequest(Self.route, body: [1]))
        #expect(channel.sent.map(\.tag) == [5] && channel.sent.first?.request.body == [1])
        channel.onCompletion(5, .stanza([2]))
        #expect(answers == [5] && seen == [.stanza([2])])
    }

    @Test func roomAndConnectionsAreThoseOfTheChannels() {
        router.add(channel, for: Self.route) { _ in }
        #expect(router.room[Self.route] == 3)
        #expect(router.room[.fcm] == 0)
        #expect(router.openConnections { $0 == Self.route } == 2)
        #expect(router.openConnections { $0 != Self.route } == 0)
        var rooms = 0
        router.onRoom = { rooms += 1 }
        channel.onRoom()
        #expect(rooms == 1)
    }

    @Test func aRequestWithoutAChannelIsAnsweredAsUnsent() {
        var answer: RequestOutcome?
        router.onCompletion = { _, outcome in answer = outcome }
        router.send(tag: 1, WireRequest(.xmpp))
        guard case .unsent = answer else { return #expect(Bool(false), "\(String(describing: answer))") }
    }

    @Test func closingClosesEachChannel() {
        router.add(channel, for: Self.route) { _ in }
        router.close()
        #expect(channel.isClosed)
    }
}
