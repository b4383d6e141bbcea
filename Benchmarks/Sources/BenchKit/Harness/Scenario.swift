/// One question asked of the worker.
protocol Scenario {
    static var name: String { get }
    static var summary: String { get }
    static func run(_ options: Options, in workspace: Workspace) throws -> Report
}

enum Scenarios {
    static var all: [any Scenario.Type] { [V1Scenario.self] }

    static func named(_ name: String) throws -> any Scenario.Type {
        guard let scenario = all.first(where: { $0.name == name }) else {
            let names = all.map { $0.name }.joined(separator: ", ")
            throw BenchError.usage(name.isEmpty ? "which scenario? \(names)" : "no scenario \(name); there is \(names)")
        }
        return scenario
    }
}
