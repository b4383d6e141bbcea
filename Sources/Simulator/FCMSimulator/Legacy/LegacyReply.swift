import FanfareJSON

/// Writes the answers of the legacy HTTP protocol.
enum LegacyReply {
    enum Result: Equatable, Sendable {
        case accepted(String, canonical: String?)
        case error(String)
    }

    static let plainType = "text/plain; charset=UTF-8"

    static func results(_ results: [Result], multicastID: UInt64) -> SimulatorReply {
        var success = 0
        var canonicals = 0
        var list: [UInt8] = []
        list.reserveCapacity(results.count * 64)
        for (index, result) in results.enumerated() {
            if index > 0 { list.append(UInt8(ascii: ",")) }
            switch result {
            case .accepted(let id, let canonical):
                success += 1
                list += #"{"message_id":"#.utf8
                list.appendJSONString(id)
                if let canonical {
                    canonicals += 1
                    list += #","registration_id":"#.utf8
                    list.appendJSONString(canonical)
                }
            case .error(let code):
                list += #"{"error":"#.utf8
                list.appendJSONString(code)
            }
            list.append(UInt8(ascii: "}"))
        }
        var body = Array(#"{"multicast_id":\#(multicastID),"success":\#(success),"#.utf8)
        body += #""failure":\#(results.count - success),"canonical_ids":\#(canonicals),"results":["#.utf8
        body += list
        body += "]}".utf8
        return SimulatorReply(status: 200, json: body)
    }

    static func topic(error: String) -> SimulatorReply { SimulatorReply(object: ["error": .string(error)]) }

    static func group(success: Int, failed: [String]) -> SimulatorReply {
        SimulatorReply(object: groupCounts(success: success, failed: failed))
    }

    /// - Parameter failed: the members that did not get the message.
    static func groupCounts(success: Int, failed: [String]) -> JSONObject {
        var body: JSONObject = ["success": .integer(success), "failure": .integer(failed.count)]
        if !failed.isEmpty { body["failed_registration_ids"] = .strings(failed) }
        return body
    }

    /// Plain text has no words for errors of the server: they have a status of 5xx.
    static func plainText(_ result: Result) -> SimulatorReply {
        let type = plainType
        switch result {
        case .accepted(let id, let canonical):
            let more = canonical.map { "registration_id=\($0)\n" } ?? ""
            return SimulatorReply(status: 200, contentType: type, text: "id=\(id)\n" + more)
        case .error("Unavailable"): return SimulatorReply(status: 503, contentType: type, text: "")
        case .error("InternalServerError"): return SimulatorReply(status: 500, contentType: type, text: "")
        case .error(let code): return SimulatorReply(status: 200, contentType: type, text: "Error=\(code)\n")
        }
    }
}
