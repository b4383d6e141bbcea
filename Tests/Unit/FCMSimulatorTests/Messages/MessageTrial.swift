import FanfareJSON
import Testing

@testable import FCMSimulator

extension Trial {
    /// One v1 message to a token; `rest` is what follows the token.
    @discardableResult
    mutating func message(to token: String, _ rest: String = #""data":{"k":"v"}"#) -> SimulatorReply {
        v1(#"{"message":{"token":"\#(token)",\#(rest)}}"#)
    }

    mutating func device(_ fields: String) throws {
        let reply = control("POST", "/devices", fields)
        try #require(reply.status == 200, "\(reply.text)")
    }

    mutating func shown(_ token: String) throws -> JSONObject {
        try control("GET", "/devices?token=" + token).json()
    }

    mutating func stored(_ token: String) throws -> [JSONObject] {
        try #require(try shown(token)["stored"]?.array).compactMap(\.object)
    }

    mutating func dropped(_ reason: DropReason) throws -> Int64 {
        let stats = try control("GET", "/stats").json()
        return stats["dropped"]?.object?[reason.rawValue]?.number?.int64 ?? 0
    }

    mutating func advance(_ milliseconds: Int64) throws {
        try #require(control("POST", "/clock", #"{"advance_ms":\#(milliseconds)}"#).status == 200)
    }

    /// In the order in which the device got them.
    func received(_ token: String) -> [Delivery] { simulator.messages.deliveries.list(token: token) }

    /// Milliseconds since the trial began.
    func times(_ token: String) -> [Int64] { received(token).map { $0.timeMs - nowMs } }
}

let second: Int64 = 1_000
let minute: Int64 = 60_000
let day: Int64 = 86_400_000

extension Delivery {
    /// The value of the data key `k` in the request, which tells one message from another.
    var mark: String? {
        switch accepted.source {
        case .v1(let body): return V1Request.message(in: body)?["data"]?.object?["k"]?.string
        case .legacy(let body): return (try? JSONParser.parse(body))?.object?["data"]?.object?["k"]?.string
        default: return nil
        }
    }
}
