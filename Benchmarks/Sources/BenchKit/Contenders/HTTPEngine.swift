/// The library that carries a worker's requests to FCM: the setting `http_engine`.
enum HTTPEngine: String, CaseIterable {
    case curl
    case nghttp2

    /// - Parameter option: the command line's option that names the engine.
    init(_ name: String, of option: String) throws {
        guard let engine = Self(rawValue: name) else {
            let names = Self.allCases.map(\.rawValue).joined(separator: " or ")
            throw BenchError.usage("\(option) \(name): \(names)")
        }
        self = engine
    }

    /// Name of a side whose workers use this engine: with nghttp2 it ends in `-nghttp2`.
    func side(_ name: String) -> String { self == .curl ? name : "\(name)-\(rawValue)" }

    /// Comparisons of each measure of each side, nghttp2 over curl.
    static func compare(_ measures: [Measure], of sides: [String]) -> [(Measure, String, String)] {
        sides.flatMap { side in measures.map { ($0, nghttp2.side(side), curl.side(side)) } }
    }
}

/// A contender whose workers use one engine, named after it.
struct EngineContender: Contender {
    let engine: HTTPEngine
    let contender: any Contender

    var name: String { engine.side(contender.name) }
    var summary: String { engine == .curl ? contender.summary : "\(contender.summary), over \(engine.rawValue)" }
    func run(sends: Int) throws -> RunSample { try contender.run(sends: sends) }
}
