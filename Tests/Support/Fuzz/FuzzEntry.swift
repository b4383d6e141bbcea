import Glibc

/// Where libFuzzer comes in. One process fuzzes one parser, the one that `FANFARE_FUZZ` names.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    // A copy of exactly this length, so that the address sanitizer sees the first byte read beyond it.
    FuzzTarget.chosen.run(Array(UnsafeBufferPointer(start: data, count: count)))
    return 0
}

/// One parser, fed bytes that a peer, a producer or a file could hold. It may refuse them; it may not trap, read beyond
/// them or break what its rule says.
struct FuzzTarget: Sendable {
    let name: String
    /// Inputs to begin with.
    let seeds: [String]
    let run: @Sendable ([UInt8]) -> Void

    static let chosen: FuzzTarget = {
        let name = getenv("FANFARE_FUZZ").map { String(cString: $0) } ?? ""
        guard let target = all.first(where: { $0.name == name }) else {
            fatalError("FANFARE_FUZZ names one of: \(all.map(\.name).joined(separator: " "))")
        }
        return target
    }()

    static let all: [FuzzTarget] =
        [json, date, response, tokenResponse, management] + [xmlStream, xmppSession, redisReplies]
        + [jobEntry, translation, condition, yaml, redisURL, userInfo, serviceAccount]
}

/// A broken rule, which libFuzzer takes for what it is: a crash with its input kept.
func check(_ holds: Bool, _ rule: @autoclosure () -> String, line: Int = #line) {
    if !holds { fatalError("line \(line): \(rule())") }
}

/// libFuzzer calls this once. With `FANFARE_FUZZ_SEEDS` it writes the seeds into that folder and ends, and with
/// `FANFARE_FUZZ=list` it prints the names of all parsers: one program to run for everything.
@_cdecl("LLVMFuzzerInitialize")
public func fuzzInitialize(
    _ count: UnsafeMutablePointer<Int32>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> Int32 {
    if let name = getenv("FANFARE_FUZZ"), String(cString: name) == "list" {
        for target in FuzzTarget.all { print(target.name) }
        exit(0)
    }
    guard let folder = getenv("FANFARE_FUZZ_SEEDS") else { return 0 }
    for (index, seed) in FuzzTarget.chosen.seeds.enumerated() {
        guard let file = fopen("\(String(cString: folder))/seed-\(index)", "w") else { exit(1) }
        let bytes = Array(seed.utf8)
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }
    exit(0)
}
