import FanfareMetrics
import Foundation
import TestSupport
import Testing

@Suite struct MetricPageTests {
    @Test func pageEndsWithTheGeneratedTables() throws {
        let isCurrent = try GeneratedPage.ends("Metrics", with: MetricReference.markdown)
        #expect(isCurrent, "run FANFARE_WRITE_PAGES=1 swift test --filter MetricPageTests and commit the page")
    }

    @Test func pageSaysWhatSentMeans() throws {
        let page = Repository.root.appendingPathComponent("Sources/Documentation/Fanfare.docc/Metrics.md")
        #expect(try String(contentsOf: page, encoding: .utf8).contains("**`sent` means accepted by FCM**"))
    }

    @Test func everyMetricIsListedOnce() {
        for metric in MetricCatalogue.all {
            #expect(MetricReference.markdown.components(separatedBy: "| `\(metric.name)` |").count == 2)
        }
    }
}
