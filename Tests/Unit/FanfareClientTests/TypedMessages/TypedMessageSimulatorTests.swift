import FanfareClient
import FanfareJSON
import Testing

@testable import FCMSimulator

@Suite struct TypedMessageSimulatorTests {
    /// The simulator reads a typed message as HTTP v1's JSON front end does: nothing is unknown and nothing is lost.
    @Test func simulatorReadsEveryTypedMessageWhole() throws {
        for seed in 0..<1_000 {
            var source = SampleSource(seed: UInt64(seed), isFull: seed == 0)
            let message = TypedMessageTests.message(&source, second: seed.isMultiple(of: 2))
            let value = try JSONParser.parse(message.jsonBytes, limits: JSONLimits())
            var reader = SchemaReader()
            let read = reader.read(["message": value], as: .sendRequest, at: "")
            #expect(reader.violations.isEmpty, "seed \(seed): \(message.jsonText)")
            guard read["message"] == value else {
                Issue.record("seed \(seed): \(message.jsonText) was read as \(read)")
                return
            }
        }
    }
}
