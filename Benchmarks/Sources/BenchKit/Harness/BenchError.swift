/// What ends a benchmark early, in words that say what to do.
public struct BenchError: Error, CustomStringConvertible, Sendable {
    /// As the product's own commands: 1 something failed, 64 usage, 69 a tool or a service is missing.
    public let exitCode: Int32
    public let description: String

    static func usage(_ text: String) -> BenchError { BenchError(exitCode: 64, description: text) }
    static func unavailable(_ text: String) -> BenchError { BenchError(exitCode: 69, description: text) }
    static func failed(_ text: String) -> BenchError { BenchError(exitCode: 1, description: text) }
    static let interrupted = BenchError(exitCode: 130, description: "interrupted")
}
