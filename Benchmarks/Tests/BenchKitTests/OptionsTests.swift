import Testing

@testable import BenchKit

struct OptionsTests {
    @Test func allOfThem() throws {
        let options = try Options.parse(
            ["v1", "--json", "out.json", "--sends", "2000", "--rounds", "3", "--no-cork", "--no-h2load", "--keep"]
        )
        #expect(options.scenario == "v1")
        #expect(options.json == "out.json")
        #expect(options.sends == 2_000)
        #expect(options.rounds == 3)
        #expect(!options.cork && !options.h2load && options.keep)
    }

    @Test(arguments: [
        ["--sends"], ["--sends", "many"], ["--sends", "0"], ["--rounds", "-1"], ["v1", "v2"], ["--sendz", "1"],
    ])
    func mistakesAreUsageErrors(arguments: [String]) {
        #expect { try Options.parse(arguments) } throws: { ($0 as? BenchError)?.exitCode == 64 }
    }

    @Test func unknownScenariosAreNamed() {
        #expect { try Scenarios.named("v7") } throws: { "\($0)".contains("v7") }
        #expect(throws: BenchError.self) { try Scenarios.named("") }
    }
}
