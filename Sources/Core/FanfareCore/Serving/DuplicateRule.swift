internal import FanfareJSON
internal import FanfareModel

/// Decides what becomes of a request that equals an earlier one of the same key.
///
/// Google's SDKs repeat a request whose answer was lost, and one that was answered with 500 or 503, without a word that
/// says so. What such a request left behind is kept in Redis for ``memoryMs`` under its fingerprint.
///
/// | left behind | an equal request |
/// |---|---|
/// | nothing | is sent |
/// | a job whose answer was not written | takes over the answer, once |
/// | an answer with 500 or 503 | gets that answer again, any number of times |
public enum DuplicateRule {
    /// How long a request is remembered.
    public static let memoryMs: Int64 = 120_000

    /// What an earlier request left behind.
    public enum Memory: Equatable, Sendable {
        /// Its recipients in a job.
        case job(String, indices: Range<Int64>)
        case answer(ServedAnswer)
    }

    /// The bytes whose SHA-256 is a request's fingerprint.
    ///
    /// - Parameters:
    ///   - key: the name of the gateway's key.
    ///   - path: method, path and query: they tell the APIs apart, and carry what some of them ask.
    public static func identity(key: String, project: String, path: String, body: [UInt8]) -> [UInt8] {
        // No name contains a line break, so that no two requests have the same bytes.
        Array("\(key)\n\(project)\n\(path)\n".utf8) + body
    }

    /// Whether clients repeat an answer by themselves. Others are never given again: an equal request may be meant.
    public static func isRepeated(_ answer: ServedAnswer) -> Bool { answer.status == 500 || answer.status == 503 }

    // MARK: As text

    public static func text(_ memory: Memory) -> [UInt8] {
        switch memory {
        case .job(let job, let indices): return Array("job \(job) \(indices.lowerBound) \(indices.upperBound)".utf8)
        case .answer(let answer):
            var object: JSONObject = ["status": .number(JSONNumber(Int64(answer.status)))]
            if let type = answer.type { object["type"] = .string(type) }
            for header in answer.headers { object["header." + header.name] = .string(header.value) }
            return Array("answer ".utf8) + JSONValue.object(object).jsonBytes + [UInt8(ascii: "\n")] + answer.body
        }
    }

    /// nil for a text that no gateway of this version wrote: the request is sent.
    public static func memory(_ text: [UInt8]) -> Memory? {
        if text.starts(with: "answer ".utf8) { return answer(text.dropFirst("answer ".utf8.count)) }
        let words = String(decoding: text.prefix(300), as: UTF8.self).split(separator: " ")
        guard words.count == 4, words[0] == "job", let first = Int64(words[2]), let end = Int64(words[3]),
            first >= 0, first < end, end - first <= Int64(Batch.maximumSize)
        else { return nil }
        return .job(String(words[1]), indices: first..<end)
    }

    private static func answer(_ text: ArraySlice<UInt8>) -> Memory? {
        guard let end = text.firstIndex(of: UInt8(ascii: "\n")),
            let object = (try? JSONParser.parse(Array(text[..<end]), limits: JSONLimits()))?.object,
            let status = object["status"]?.number?.int64, (200...599).contains(status)
        else { return nil }
        let headers = object.members.compactMap { member -> ServedAnswer.Header? in
            guard member.key.hasPrefix("header."), let value = member.value.string else { return nil }
            return ServedAnswer.Header(String(member.key.dropFirst("header.".count)), value)
        }
        let body = Array(text[(end + 1)...])
        return .answer(ServedAnswer(status: Int(status), type: object["type"]?.string, body: body, headers: headers))
    }
}
