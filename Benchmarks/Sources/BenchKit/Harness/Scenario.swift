/// One question asked of the worker.
protocol Scenario {
    static var name: String { get }
    static var summary: String { get }
    /// Programs without which it cannot run.
    static var tools: [Tool] { get }
    static func run(_ bench: Bench) throws -> Report
}

enum Scenarios {
    static let everything = "all"

    static var all: [any Scenario.Type] {
        [
            V1Scenario.self,
            SinglesScenario.self,
            PersonalScenario.self,
            MulticastScenario.self,
            MixedScenario.self,
            LatencyScenario.self,
            GatewayScenario.self,
            InFlightScenario.self,
            SizeScenario.self,
            ScaleScenario.self,
            FanoutsScenario.self,
            QuotaScenario.self,
            IdleScenario.self,
            EstimateScenario.self,
        ]
    }

    static func named(_ name: String) throws -> [any Scenario.Type] {
        if name == everything { return all }
        guard let scenario = all.first(where: { $0.name == name }) else {
            let names = (all.map { $0.name } + [everything]).joined(separator: ", ")
            throw BenchError.usage(name.isEmpty ? "which scenario? \(names)" : "no scenario \(name); there is \(names)")
        }
        return [scenario]
    }
}
