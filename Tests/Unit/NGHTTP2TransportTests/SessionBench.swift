import FanfareModel
import HTTPLanes
import Testing

@testable import NGHTTP2Transport

/// A session whose wire the test holds.
final class SessionBench {
    let session: HTTP2Session
    /// All bytes that were handed over.
    private(set) var sent: [UInt8] = []
    private(set) var ends: [Int: RequestEnd] = [:]
    private(set) var surplus = 0

    init(streams: UInt32 = 100, maximumBodyBytes: Int = 1_000) throws {
        session = try #require(HTTP2Session(origin: "https://h:8443", maximumBodyBytes: maximumBodyBytes))
        flush()
        receive(Frames.settings([(3, streams)]) + Frames.settingsACK)
        flush()
    }

    func submit(_ number: Int, body: String = "body", url: String = "https://h:8443/send", headers: [String] = []) {
        let request = HTTPRequest(tag: UInt64(number), url: url, headers: headers, body: Array(body.utf8))
        session.submit(request, number: number)
    }

    /// Submits requests 0 to `count` and hands them over: their streams are 1, 3, 5 and so on.
    func send(_ count: Int, body: String = "body") {
        for number in 0..<count { submit(number, body: body) }
        flush()
    }

    func receive(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { session.receive($0) }
        collect()
    }

    /// Hands over all that there is.
    func flush() {
        while true {
            session.fill()
            if session.output.isEmpty { break }
            session.handOver()
            sent += session.output
            session.output.removeAll()
        }
        collect()
    }

    func end(_ reason: Reason = "closed by the peer") {
        session.endAll(reason: reason)
        collect()
    }

    func cancel(_ number: Int) {
        record(number, session.cancel(number, reason: "no answer in time", as: .timedOut))
    }

    private func collect() {
        while let (number, end) = session.nextEnd() { record(number, end) }
    }

    private func record(_ number: Int, _ end: RequestEnd) {
        if ends.updateValue(end, forKey: number) != nil { surplus += 1 }
    }

    /// The class of a request's outcome; nil while it has not ended.
    func kind(_ number: Int) -> String? {
        switch ends[number]?.proof {
        case nil: nil
        case .unsent: "unsent"
        case .refused: "refused"
        case .ambiguous: "ambiguous"
        case .answered(let answer): answer.isComplete ? "\(answer.status)" : "\(answer.status) cut"
        }
    }

    func answer(_ number: Int) -> HTTPAnswer? {
        guard case .answered(let answer) = ends[number]?.proof else { return nil }
        return answer
    }
}
