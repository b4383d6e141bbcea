import Foundation
import FoundationXML
import Testing

@testable import BenchKit

struct ChartTests {
    private var inFlight: Report {
        report(
            InFlightScenario.levels.flatMap { level in
                [(InFlightScenario.worker(level), [2.0, 3]), (InFlightScenario.floor(level), [1.0, 2])]
            }
        )
    }

    @Test func theChartIsXMLWithAPointForEachLevelOfEachSide() throws {
        let text = Chart.svg(inFlight, caption: "2 × <a & b>")
        let parser = XMLParser(data: Data(text.utf8))
        #expect(parser.parse())
        #expect(text.components(separatedBy: "<circle").count - 1 == 2 * 2 * InFlightScenario.levels.count)
        #expect(text.components(separatedBy: "<polyline").count - 1 == 4)
        #expect(text.contains("&lt;a &amp; b&gt;"))
    }

    @Test func bothEnginesHaveALine() {
        let sides = InFlightScenario.levels.flatMap { level in
            [InFlightScenario.worker(level), InFlightScenario.workerOnNGHTTP2(level)].map { ($0, [1.0]) }
        }
        let text = Chart.svg(report(sides), caption: "")
        #expect(text.components(separatedBy: "<polyline").count - 1 == 4)
        #expect(text.contains("worker, nghttp2") && !text.contains("libcurl alone"))
    }

    @Test func aSideThatDidNotRunHasNoLine() {
        let text = Chart.svg(report([("worker-100", [1]), ("worker-300", [1])]), caption: "")
        #expect(text.components(separatedBy: "<circle").count - 1 == 4)
    }

    @Test(arguments: [(0.0, 1.0), (0.7, 0.8), (1, 1), (11, 20), (43, 50), (81, 100), (12_345, 20_000)])
    func axesEndAtShortNumbers(value: Double, top: Double) {
        #expect(abs(Plot.niceCeiling(value) - top) < 1e-9)
    }

    @Test(arguments: [(0.0, "0"), (3_000, "3000"), (12_500, "12.5 k"), (20_000, "20 k"), (12.5, "12.5")])
    func labels(value: Double, text: String) {
        #expect(Plot.label(value) == text)
    }
}
