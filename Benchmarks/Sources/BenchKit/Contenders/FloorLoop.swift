internal import CurlFloor
internal import Foundation

/// What the process of a floor run is told, and what it says.
struct FloorJob: Codable {
    var url: String
    var authority: String
    var headers: [String]
    var body: String
    var lanes: Int
    var streams: Int
    var warmUp: Int
    var sends: Int
    var cork: Bool
    var limitSeconds: Double
}

struct FloorAnswer: Codable {
    var sent: Int
    var failed: Int
    var wallNs: Int
    var userNs: Int
    var systemNs: Int
    var warmUpCPUNs: Int
    var turns: Int
    var peakMemoryMegabytes: Double?
    var firstError: String
}

public enum FloorLoop {
    /// The hidden command: the harness runs itself as the floor, so that the floor has a process of its own.
    static let command = "floor-loop"

    static var curlVersion: String { String(cString: curl_floor_version()) }

    static func main(jobFile: String) throws {
        guard let data = FileManager.default.contents(atPath: jobFile) else {
            throw BenchError.usage("\(jobFile) cannot be read")
        }
        let answer = try run(JSONDecoder().decode(FloorJob.self, from: data))
        FileHandle.standardOutput.write(try JSONEncoder().encode(answer))
    }

    static func run(_ job: FloorJob) throws -> FloorAnswer {
        var options = curl_floor_options()
        var result = curl_floor_result()
        let texts = ([job.url, job.authority, job.body] + job.headers).map { strdup($0) }
        defer { for text in texts { free(text) } }
        let headers: [UnsafePointer<CChar>?] = texts[3...].map { UnsafePointer($0) } + [nil]
        options.url = UnsafePointer(texts[0])
        options.ca_file = UnsafePointer(texts[1])
        options.body = UnsafePointer(texts[2])
        options.body_length = job.body.utf8.count
        options.lanes = Int32(job.lanes)
        options.streams = Int32(job.streams)
        options.warm_up = job.warmUp
        options.sends = job.sends
        options.cork = job.cork ? 1 : 0
        options.limit_ms = Int(job.limitSeconds * 1_000)
        let code = headers.withUnsafeBufferPointer { headers in
            options.headers = headers.baseAddress
            return curl_floor_run(&options, &result)
        }
        let error = withUnsafeBytes(of: result.first_error) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        guard code == 0 else { throw BenchError.failed("the floor: \(error)") }
        return FloorAnswer(
            sent: result.sent,
            failed: result.failed,
            wallNs: result.wall_ns,
            userNs: result.user_ns,
            systemNs: result.system_ns,
            warmUpCPUNs: result.warm_up_cpu_ns,
            turns: result.turns,
            peakMemoryMegabytes: Child.peakMemoryMegabytes(of: getpid()),
            firstError: error
        )
    }
}
