internal import ArgumentParser
internal import FanfareMetrics

/// Generates the table of the documentation's page; hidden, because users have the page.
struct MetricReferenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Prints the table of all metrics.",
        shouldDisplay: false
    )

    func run() { Console.write(MetricReference.markdown, to: 1) }
}
