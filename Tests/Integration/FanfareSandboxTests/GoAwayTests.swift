import FCMSimulator
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import FanfareSandbox

/// The GOAWAY's last stream, for frames in an order that no client can be made to send.
@Suite struct GoAwayTests {
    private let loop = EmbeddedEventLoop()
    private let host: SimulatorHost
    private let channel: EmbeddedChannel

    init() throws {
        let project = SimulatedProject(
            id: "demo",
            senderID: "1",
            serverKey: "key",
            serviceAccountEmail: "a@demo.iam.gserviceaccount.com"
        )
        host = SimulatorHost(
            simulator: Simulator(configuration: SimulatorConfiguration(projects: [project])),
            keys: [:],
            timers: loop
        )
        channel = EmbeddedChannel(handler: HTTP2Connection(host: host), loop: loop)
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/none")).wait()
    }

    private func headers(_ stream: HTTP2StreamID) throws {
        let headers: HPACKHeaders = [
            ":method": "POST", ":path": "/fcm/send", ":scheme": "https", ":authority": "localhost",
            "authorization": "key=key", "content-type": "application/json",
        ]
        try channel.writeInbound(HTTP2Frame(streamID: stream, payload: .headers(.init(headers: headers))))
    }

    private func body(_ stream: HTTP2StreamID, to token: String) throws {
        let bytes = channel.allocator.buffer(string: #"{"to":"\#(token)"}"#)
        try channel.writeInbound(
            HTTP2Frame(streamID: stream, payload: .data(.init(data: .byteBuffer(bytes), endStream: true)))
        )
    }

    private func written() throws -> [HTTP2Frame] {
        var frames: [HTTP2Frame] = []
        while let frame = try channel.readOutbound(as: HTTP2Frame.self) { frames.append(frame) }
        return frames
    }

    /// The later stream's body comes first: it is delivered, and its answer waits.
    @Test func goAwayCountsADeliveredRequestAsProcessed() throws {
        try headers(1)
        try headers(3)
        try body(3, to: "sbx-slow-1000-a")
        var fault = SimulatorRequest(method: "POST", path: "/faults", query: "")
        fault.body = Array(#"{"action":{"goaway":"NO_ERROR"},"times":1}"#.utf8)
        #expect(host.control(fault).status == 200)
        try body(1, to: "b")
        let last = try written().compactMap { frame in
            if case .goAway(let last, _, _) = frame.payload { last } else { nil }
        }
        #expect(last == [3])
        loop.advanceTime(by: .seconds(2))
        let answers = try written().compactMap { frame in
            if case .headers(let answer) = frame.payload {
                (frame.streamID, answer.headers.first(name: ":status"))
            } else {
                nil
            }
        }
        #expect(answers.count == 1 && answers.first?.0 == 3 && answers.first?.1 == "200", "\(answers)")
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}
