internal import ArgumentParser
internal import FanfareModel

/// The command line. One folder per command and one file per subcommand; Options, Output, Process and Redis are shared.
@main
struct Fanfare: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanfare",
        abstract: "Pushes jobs from Redis streams to FCM and writes what became of every recipient.",
        discussion: """
            Try everything on this machine, without a Google account:
              fanfare demo

            Let your shell complete commands, projects and jobs (bash; zsh and fish have theirs):
              source <(fanfare --generate-completion-script bash)

            Exit codes: 0 done, 1 something failed, 64 usage, 69 a service is unavailable, 78 configuration.
            """,
        version: FanfareVersion.current,
        subcommands: [
            DemoCommand.self, WorkerCommand.self, SandboxCommand.self, SendCommand.self, TopicCommand.self,
            GroupCommand.self, JobCommand.self, ProjectCommand.self, DeadCommand.self, FunctionsCommand.self,
            TopCommand.self, DashboardCommand.self, ConfigCommand.self, DoctorCommand.self,
        ]
    )

    static func main() async {
        // Read before what must not be seen is blotted out of them.
        let arguments = Array(CommandLine.arguments.dropFirst())
        ProcessProtection.activate()
        do {
            var command = try await parseCommand(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            refuse(error, arguments)
        }
    }

    /// Ends the process as the parser would, with an error message that shows no secret of the command line.
    private static func refuse(_ error: any Error, _ arguments: [String]) -> Never {
        guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
        let complaint = fullMessage(for: error)
        if !complaint.isEmpty { Console.error(ArgumentMask.masked(complaint, arguments: arguments)) }
        exit(withError: ExitCode.validationFailure)
    }

    /// Checks what a line asks for once every word of it is understood: that a title is missing is of no help to who has
    /// written `--titel`.
    static func parseCommand(_ arguments: [String]) async throws -> any ParsableCommand {
        do {
            return try await asyncParseAsRoot(arguments)
        } catch {
            guard exitCode(for: error) == .validationFailure else { throw error }
            _ = try await $skipsValidation.withValue(true) { try await asyncParseAsRoot(arguments) }
            throw error
        }
    }

    /// What misses something in a line keeps still.
    @TaskLocal static var skipsValidation = false
}
