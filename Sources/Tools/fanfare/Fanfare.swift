internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareModel
internal import OpenSSLKit

/// The command line. One folder per command and one file per subcommand; Options, Output, Process and Redis are shared.
@main
struct Fanfare: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanfare",
        abstract: "Sends jobs from Redis streams to FCM and writes a result for every recipient.",
        discussion: """
            Try it on this machine, without a Google account:
              fanfare demo
              fanfare up

            Write a configuration file into this folder:
              fanfare init

            Complete commands, projects and jobs in your shell (bash; also for zsh and fish):
              source <(fanfare --generate-completion-script bash)

            Exit codes: 0 done, 1 something failed, 64 usage, 69 a service is unavailable, 78 configuration.
            """,
        groupedSubcommands: [
            CommandGroup(name: "Trial", subcommands: [DemoCommand.self, UpCommand.self, SandboxCommand.self]),
            CommandGroup(
                name: "Worker",
                subcommands: [
                    InitCommand.self, ConfigCommand.self, DoctorCommand.self, WorkerCommand.self, FunctionsCommand.self,
                    GatewayCommand.self,
                ]
            ),
            CommandGroup(name: "Producer", subcommands: [SendCommand.self, TopicCommand.self, GroupCommand.self]),
            CommandGroup(
                name: "Operator",
                subcommands: [
                    TopCommand.self, DashboardCommand.self, JobCommand.self, TokenCommand.self, ProjectCommand.self,
                    DeadCommand.self, PauseCommand.self, ResumeCommand.self,
                ]
            ),
        ]
    )

    // The parser's own flag would stand in the help of each subcommand.
    @Flag(help: "Show the version.")
    var version = false

    func run() async throws {
        guard version else { throw CleanExit.helpRequest(self) }
        Console.line(FanfareVersion.current)
    }

    static func main() async {
        // Read the arguments before their passwords are overwritten.
        let arguments = Array(CommandLine.arguments.dropFirst())
        ProcessProtection.activate()
        OpenSSLLibrary.keepUntilExit()
        do {
            var command = try await parseCommand(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error as ConfigurationError {
            ConfigurationOptions.report(error)
            exit(withError: ExitCode(Outcome.configuration.rawValue))
        } catch let error where exitCode(for: error) == .validationFailure {
            // As the argument parser does, with secrets masked.
            var message = ArgumentMask.masked(fullMessage(for: error), arguments: arguments)
            if let hint = CommandHint.find(arguments) { message = CommandHint.added(hint, to: message) }
            if !message.isEmpty { Console.error(message) }
            exit(withError: ExitCode.validationFailure)
        } catch {
            exit(withError: error)
        }
    }

    /// Parses a command line. Unknown options are reported before missing ones: a user who typed `--titel` learns that
    /// first.
    static func parseCommand(_ arguments: [String]) async throws -> any ParsableCommand {
        do {
            return try await asyncParseAsRoot(arguments)
        } catch {
            guard exitCode(for: error) == .validationFailure else { throw error }
            _ = try await $skipsValidation.withValue(true) { try await asyncParseAsRoot(arguments) }
            throw error
        }
    }

    /// True while only the syntax is checked: `validate()` of each command then does nothing.
    @TaskLocal static var skipsValidation = false
}
