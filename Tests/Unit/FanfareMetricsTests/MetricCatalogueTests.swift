import FanfareMetrics
import Testing

@Suite struct MetricCatalogueTests {
    @Test func metricNamesAreUniqueAndShowTheirKind() {
        #expect(Set(MetricCatalogue.all.map(\.name)).count == MetricCatalogue.all.count)
        for metric in MetricCatalogue.all {
            #expect(MetricCatalogue.metric(named: metric.name) == metric)
            #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter), "\(metric.name)")
            #expect(!metric.help.isEmpty && !metric.help.contains("\n"), "\(metric.name)")
            #expect(metric.name.hasPrefix("fanfare_") || metric.name.hasPrefix("process_"))
        }
    }

    @Test func bucketsAscend() {
        for metric in MetricCatalogue.all {
            guard case .histogram(let bounds) = metric.kind else { continue }
            #expect(metric.name.hasSuffix("_seconds"))
            #expect(zip(bounds, bounds.dropFirst()).allSatisfy(<) && bounds.allSatisfy { $0 > 0 })
        }
    }

    @Test func helpTextsOfSentSayAcceptedByFCM() {
        for metric in [MetricCatalogue.sends, MetricCatalogue.results] {
            #expect(metric.help.contains("accepted by FCM"))
        }
    }
}
