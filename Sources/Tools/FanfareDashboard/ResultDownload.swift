internal import FanfareClient
internal import FanfareJSON
internal import FanfareModel
internal import StreamWire

/// The rows of a download of results. It holds one chunk of the stream at a time, however large the job is.
struct ResultDownload<Redis: RedisSending>: Sendable {
    enum Format: String {
        case ndjson, csv

        var type: String { self == .csv ? "text/csv; charset=utf-8" : "application/x-ndjson; charset=utf-8" }
    }

    let reader: ResultReader<Redis>
    let filter: ResultFilter
    let format: Format
    let isMasked: Bool

    /// Writes all rows, the oldest first, and waits for the browser after each chunk.
    func write(to write: ([UInt8]) async throws -> Void) async throws {
        var reader = reader
        if format == .csv { try await write(Array(ResultTable.header.utf8)) }
        while true {
            let chunk = try await reader.next()
            var rows: [UInt8] = []
            for result in chunk.entries.lazy.flatMap(\.results) where filter.matches(result) {
                append(result, to: &rows)
            }
            if !rows.isEmpty { try await write(rows) }
            if chunk.isEnd { return }
            try Task.checkCancellation()
        }
    }

    private func append(_ result: JobResult, to rows: inout [UInt8]) {
        switch format {
        case .ndjson:
            rows.appendJSON(.object(Masking.object(result, isMasked: isMasked)))
            rows.append(UInt8(ascii: "\n"))
        case .csv: rows.append(contentsOf: ResultTable.row(result, isMasked: isMasked).utf8)
        }
    }
}

/// Results as comma-separated values, RFC 4180.
enum ResultTable {
    static let header =
        "i,kind,recipient,status,error,raw_error,http_status,action,attempts,maybe_dup,message_id,canonical\r\n"

    static func row(_ result: JobResult, isMasked: Bool) -> String {
        let cells: [String] = [
            "\(result.index)", result.kind.rawValue, isMasked ? Masking.recipient(of: result) : result.recipient,
            result.status.rawValue, result.error ?? "", result.rawError ?? "",
            result.httpStatus.map { "\($0)" } ?? "", result.action ?? "", "\(result.attempts)",
            result.mayBeDuplicate ? "true" : "", result.messageID ?? "",
            result.canonical.map { isMasked ? Masking.token($0) : $0 } ?? "",
        ]
        return cells.map(cell).joined(separator: ",") + "\r\n"
    }

    /// A spreadsheet must not read the text of a peer or of a producer as a formula: a quote before it makes it text.
    /// The first byte counts, because a combining mark can follow it.
    static func cell(_ text: String) -> String {
        let safe = text.utf8.first.map("=+-@\t\r".utf8.contains) == true ? "'" + text : text
        guard safe.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return safe }
        return "\"" + safe.replacing("\"", with: "\"\"") + "\""
    }
}
