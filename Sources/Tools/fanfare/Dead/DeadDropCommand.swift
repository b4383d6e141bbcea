internal import ArgumentParser
internal import FanfareClient
internal import StreamWire

struct DeadDropCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Deletes entries; unfinished recipients of parked jobs are cancelled.",
        discussion: """
            Asks first; without a terminal, --yes is required. It cannot be undone. Exits with 1 if an entry \
            does not exist.

            Examples:
              fanfare dead drop 1772352000000-0 --project demo
              fanfare dead drop --all --kind rejected --yes --project demo
            """
    )

    @OptionGroup var selection: DeadSelection

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        guard yes || Console.canPrompt else {
            throw ValidationError("a drop cannot be undone, and there is no terminal to confirm it; give --yes")
        }
    }

    func run() async throws {
        try await selection.run(confirm: { if !yes { try Self.confirm($0) } }) { session, item in
            guard try await session.projectOperator.drop(item.id) != .missing else { return .missing(session.project) }
            let end = item.kind == .parked ? "its unfinished recipients are cancelled" : "dropped"
            return .init(outcome: "dropped", text: "job \(item.job): \(end)")
        }
    }

    static func question(_ items: [DeadEntry]) -> String {
        let parked = items.filter { $0.kind == .parked }.count
        var text = "Drop \(items.count == 1 ? "1 entry" : "\(items.count) entries") for good?"
        if parked > 0 {
            text += " Unfinished recipients of \(parked == 1 ? "1 parked job" : "\(parked) parked jobs") are cancelled."
        }
        return text + " [y/N] "
    }

    private static func confirm(_ items: [DeadEntry]) throws {
        guard Console.confirm(question(items)) else { throw Outcome.failed.because("nothing was dropped") }
    }
}
