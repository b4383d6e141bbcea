import FanfareCore
import Testing

@Suite struct UpstreamBufferTests {
    private func actions(_ buffer: inout UpstreamBuffer, _ events: UpstreamBuffer.Event...) -> [UpstreamBuffer.Action] {
        var actions: [UpstreamBuffer.Action] = []
        for event in events { buffer.handle(event, into: &actions) }
        return actions
    }

    @Test func messageIsAcknowledgedWhenItIsWritten() {
        var buffer = UpstreamBuffer()
        #expect(actions(&buffer, .received(id: 1, isConnected: true)) == [.write(id: 1)])
        #expect(actions(&buffer, .written(id: 1)) == [.acknowledge(id: 1)])
        #expect(buffer.count == 0)
    }

    @Test func messageWaitsForAConnection() {
        var buffer = UpstreamBuffer()
        #expect(actions(&buffer, .received(id: 1, isConnected: false)) == [.wait(ms: 100)])
        #expect(actions(&buffer, .waited(isConnected: false)) == [.wait(ms: 100)])
        #expect(actions(&buffer, .waited(isConnected: true)) == [.write(id: 1)])
    }

    @Test func failedMessageIsWrittenAgainBeforeNewerOnes() {
        var buffer = UpstreamBuffer()
        _ = actions(&buffer, .received(id: 1, isConnected: true), .received(id: 2, isConnected: true))
        #expect(actions(&buffer, .failed(id: 1)) == [.wait(ms: 100)])
        #expect(actions(&buffer, .received(id: 3, isConnected: true)).isEmpty)
        #expect(actions(&buffer, .failed(id: 2)).isEmpty, "one pause for all")
        #expect(
            actions(&buffer, .waited(isConnected: true)) == [.write(id: 1), .write(id: 2), .write(id: 3)]
        )
    }

    @Test func messageInFlightIsNotWrittenTwice() {
        var buffer = UpstreamBuffer()
        _ = actions(&buffer, .received(id: 1, isConnected: true), .received(id: 2, isConnected: true))
        _ = actions(&buffer, .failed(id: 1))
        #expect(actions(&buffer, .waited(isConnected: true)) == [.write(id: 1)])
        #expect(actions(&buffer, .written(id: 2)) == [.acknowledge(id: 2)])
    }

    @Test func fullBufferGivesMessagesBack() {
        var buffer = UpstreamBuffer()
        for id in 0..<UpstreamBuffer.most { _ = actions(&buffer, .received(id: id, isConnected: true)) }
        #expect(actions(&buffer, .received(id: -1, isConnected: true)) == [.giveBack(id: -1)])
        _ = actions(&buffer, .written(id: 7))
        #expect(actions(&buffer, .received(id: -2, isConnected: true)) == [.write(id: -2)])
    }

    @Test func pauseWithoutMessagesEndsSilently() {
        var buffer = UpstreamBuffer()
        _ = actions(&buffer, .received(id: 1, isConnected: true), .received(id: 2, isConnected: true))
        _ = actions(&buffer, .failed(id: 1), .written(id: 2), .written(id: 1))
        #expect(actions(&buffer, .waited(isConnected: true)).isEmpty)
    }
}
