import FanfareMetrics
import Foundation
import TestSupport
import Testing

@Suite struct MetricPageTests {
    /// `fanfare config metrics` generates the table of the page.
    @Test func pageHoldsTheGeneratedTable() throws {
        let root = Repository.root
        let page = root.appendingPathComponent("Sources/Documentation/Fanfare.docc/Metrics.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        #expect(text.contains(MetricReference.markdown), "put the output of `fanfare config metrics` into the page")
        #expect(text.contains("**`sent` means accepted by FCM**"))
    }

    @Test func everyMetricIsListedOnce() {
        for metric in MetricCatalogue.all {
            #expect(MetricReference.markdown.components(separatedBy: "| `\(metric.name)` |").count == 2)
        }
    }
}
