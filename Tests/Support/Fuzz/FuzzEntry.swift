import Glibc

/// Entry point of libFuzzer. One process fuzzes one parser, named by `FANFARE_FUZZ`.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    // A copy of exactly this length, so that the address sanitizer detects a read beyond it.
    FuzzTarget.chosen.run(Array(UnsafeBufferPointer(start: data, count: count)))
    return 0
}

/// One parser and its fuzz test. The bytes stand for the input of a peer, a producer or a file. The parser may refuse
/// them; it must not trap, read beyond them or break the rules checked by ``run``.
struct FuzzTarget: Sendable {
    let name: String
    /// The initial corpus.
    let seeds: [[UInt8]]
    let run: @Sendable ([UInt8]) -> Void

    init(name: String, seeds: [[UInt8]], run: @escaping @Sendable ([UInt8]) -> Void) {
        (self.name, self.seeds, self.run) = (name, seeds, run)
    }

    init(name: String, seeds: [String], run: @escaping @Sendable ([UInt8]) -> Void) {
        self.init(name: name, seeds: seeds.map { Array($0.utf8) }, run: run)
    }

    static let chosen: FuzzTarget = {
        let name = getenv("FANFARE_FUZZ").map { String(cString: $0) } ?? ""
        guard let target = all.first(where: { $0.name == name }) else {
            fatalError("FANFARE_FUZZ names one of: \(all.map(\.name).joined(separator: " "))")
        }
        return target
    }()

    static let all: [FuzzTarget] =
        [json, date, response, tokenResponse, management] + [
            xmlStream, xmppSession, redisReplies, http2Session, tlsHandler,
        ]
        + [jobEntry, translation, condition, yaml, redisURL, userInfo, serviceAccount]
}

/// Traps if a rule is broken, so that libFuzzer reports a crash and keeps the input.
func check(_ holds: Bool, _ rule: @autoclosure () -> String, line: Int = #line) {
    if !holds { fatalError("line \(line): \(rule())") }
}

/// Initializer of libFuzzer, called once. With `FANFARE_FUZZ_SEEDS` it writes the seeds into that folder and exits.
/// With `FANFARE_FUZZ=list` it prints the names of all parsers and exits.
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
        fwrite(seed, 1, seed.count, file)
        fclose(file)
    }
    exit(0)
}
