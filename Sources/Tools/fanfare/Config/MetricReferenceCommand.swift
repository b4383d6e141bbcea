internal import ArgumentParser
internal import FanfareMetrics

/// Makes the documentation's page; not for users, who have the page.
struct MetricReferenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Prints the table of all metrics.",
        shouldDisplay: false
    )

    func run() { Console.write(MetricReference.markdown, to: 1) }
}
