import Testing

@testable import BenchKit

struct OptionsTests {
    @Test func allOfThem() throws {
        let options = try Options.parse([
            "v1", "--json", "out.json", "--chart", "out.svg", "--worker", "/w", "--sends", "2000", "--rounds", "3",
            "--sizes", "10000,1000000", "--no-cork", "--no-h2load", "--no-rivals", "--keep", "--before", "/b",
        ])
        #expect(options.scenario == "v1")
        #expect(options.json == "out.json" && options.chart == "out.svg" && options.fanfare == "/w")
        #expect(options.before == "/b")
        #expect(options.sends == 2_000 && options.rounds == 3)
        #expect(options.sizes == [10_000, 1_000_000])
        #expect(!options.cork && !options.h2load && !options.rivals && options.keep)
    }

    @Test(arguments: [([], [HTTPEngine.curl, .nghttp2]), (["--engine", "nghttp2"], [.nghttp2])])
    func bothEnginesRunUnlessOneIsNamed(arguments: [String], engines: [HTTPEngine]) throws {
        #expect(try Options.parse(arguments).engines == engines)
    }

    @Test(arguments: [
        ["--sends"], ["--sends", "many"], ["--sends", "0"], ["--rounds", "-1"], ["v1", "v2"], ["--sendz", "1"],
        ["--chart", "out.jpg"], ["--sizes", "10000,"], ["--sizes", "1"], ["--engine"], ["--engine", "both"],
    ])
    func mistakesAreUsageErrors(arguments: [String]) {
        #expect { try Options.parse(arguments) } throws: { ($0 as? BenchError)?.exitCode == 64 }
    }

    @Test(arguments: [([], 5), (["--short"], 1), (["--long"], 10), (["--short", "--rounds", "7"], 7)])
    func theFormSaysHowMuchUnlessTold(arguments: [String], rounds: Int) throws {
        #expect(try Options.parse(arguments).rounds(1, 5, 10) == rounds)
    }

    @Test func unknownScenariosAreNamed() {
        #expect { try Scenarios.named("v7") } throws: { "\($0)".contains("v7") }
        #expect(throws: BenchError.self) { try Scenarios.named("") }
    }

    @Test func allMeansEveryScenarioOnce() throws {
        let names = try Scenarios.named("all").map { $0.name }
        #expect(Set(names).count == names.count && names.count >= 10)
        for name in names { #expect(try Scenarios.named(name).count == 1) }
    }

    @Test func whatIsMissingIsNamedWithItsPackages() {
        let tools = [
            Tool(name: "no-such-program", package: "no-such-package"),
            Tool(name: "a module", package: "another", file: "/no/such/file"),
        ]
        #expect { try Tool.demand(tools) } throws: { error in
            let text = "\(error)"
            return (error as? BenchError)?.exitCode == 69 && text.contains("apt-get install another no-such-package")
        }
    }
}
