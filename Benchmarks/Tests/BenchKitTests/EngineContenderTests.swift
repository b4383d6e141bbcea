import Testing

@testable import BenchKit

struct EngineContenderTests {
    @Test func onlyTheSidesOfNGHTTP2AreNamedAfterTheirEngine() {
        let names = HTTPEngine.allCases.map {
            EngineContender(engine: $0, contender: NamedContender(name: "worker-100")).name
        }
        #expect(names == ["worker-100", "worker-100-nghttp2"])
    }

    @Test func eachContenderRunsOncePerEngineOnABenchOfThatEngine() throws {
        try withBench { bench in
            var engines: [HTTPEngine] = []
            let contenders = bench.perEngine { bench in
                engines.append(bench.engine)
                return NamedContender(name: "worker")
            }
            #expect(engines == [.curl, .nghttp2])
            #expect(contenders.map(\.name) == ["worker", "worker-nghttp2"])
        }
    }

    @Test func theEngineOfTheCommandLineIsTheOnlyOne() throws {
        try withBench(["--engine", "nghttp2", "--before", "/b"]) { bench in
            #expect(bench.engine == .nghttp2)
            #expect(bench.perEngine { _ in NamedContender(name: "worker") }.map(\.name) == ["worker-nghttp2"])
            #expect(bench.before?.engine == .curl)
        }
    }

    @Test func comparisonsAreNGHTTP2OverCurl() {
        let compare = HTTPEngine.compare([.cpu, .rate], of: ["worker"])
        #expect(compare.map(\.0.name) == [Measure.cpu.name, Measure.rate.name])
        #expect(compare.allSatisfy { $0.1 == "worker-nghttp2" && $0.2 == "worker" })
    }

    private func withBench(_ arguments: [String] = [], _ check: (Bench) throws -> Void) throws {
        let workspace = try Workspace()
        defer { workspace.remove() }
        try check(
            Bench(
                options: try Options.parse(arguments),
                workspace: workspace,
                certificates: Certificates(authority: "/ca", certificate: "/cert", key: "/key", accountKey: ""),
                executable: "/w"
            )
        )
    }
}
