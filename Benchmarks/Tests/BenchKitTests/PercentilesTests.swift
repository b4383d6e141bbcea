import Testing

@testable import BenchKit

struct PercentilesTests {
    @Test(arguments: [(0.5, 50.0), (0.99, 99.0), (0.999, 100.0), (0, 1), (1, 100)])
    func ofAHundred(share: Double, value: Double) throws {
        let percentiles = try #require(Percentiles((1...100).reversed().map(Double.init)))
        #expect(percentiles.at(share) == value)
    }

    @Test func ofOneAndOfNone() throws {
        let one = try #require(Percentiles([7]))
        #expect(one.at(0.5) == 7 && one.at(0.999) == 7)
        #expect(Percentiles([]) == nil)
    }

    @Test func theLoadGeneratorsLogIsRead() throws {
        let log = "1700000000000000\t200\t1500\n1700000000000001\t200\t250\n"
        #expect(try PacedH2LoadContender.milliseconds(log) == [1.5, 0.25])
        #expect(throws: BenchError.self) { try PacedH2LoadContender.milliseconds("1\t503\t9\n") }
        #expect(throws: BenchError.self) { try PacedH2LoadContender.milliseconds("nonsense\n") }
    }
}
