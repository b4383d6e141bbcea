internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareModel
internal import FoundationEssentials
internal import Glibc

struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Writes a commented fanfare.yaml into this folder.",
        discussion: """
            The file holds every setting, most of them as a comment with the default. Prints the commands to run next. \
            Never overwrites a file.

            Examples:
              fanfare init --project my-app
              fanfare init --sandbox
              fanfare init --schema
              fanfare init --stdout > /etc/fanfare/fanfare.yaml
            """
    )

    @Flag(help: "For a trial with the simulator, which `fanfare sandbox --state sandbox` runs.")
    var sandbox = false

    @Option(help: .value("id", "The id of the Firebase project, or any id for the sandbox."))
    var project = "my-app"

    @Flag(help: "Also write fanfare.schema.json, and name it in the first line for editors.")
    var schema = false

    @Flag(help: "Print the file instead.")
    var stdout = false

    private static let name = "fanfare.yaml"
    private static let schemaName = "fanfare.schema.json"
    private static let state = "sandbox"

    func validate() throws {
        guard !Fanfare.skipsValidation else { return }
        guard !schema || !stdout else {
            throw ValidationError("--schema writes two files; leave --stdout out, or use `fanfare config schema`")
        }
        guard ProjectID.isValid(project) else { throw ValidationError("--project must match \(ProjectID.pattern)") }
    }

    func run() throws {
        let template: ConfigurationTemplate =
            sandbox ? .sandbox(project: project, state: Self.state) : .live(project: project)
        guard !stdout else { return Console.write(template.text, to: STDOUT_FILENO) }
        if schema {
            try write(SettingSchema.text, to: Self.schemaName)
            do {
                try write("# yaml-language-server: $schema=\(Self.schemaName)\n" + template.text, to: Self.name)
            } catch {
                unlink(Self.schemaName)
                throw error
            }
        } else {
            try write(template.text, to: Self.name)
        }
        Console.line(sandbox ? sandboxSteps : liveSteps)
        if ProcessInfo.processInfo.environment["FANFARE_CONFIG"]?.isEmpty == false {
            ConfigurationOptions.warn(["FANFARE_CONFIG names another file: unset it, or pass -c \(Self.name)"])
        }
    }

    private func write(_ text: String, to name: String) throws {
        // Neither file holds a secret, and workers may run as another user.
        do throws(NewFile.Failure) { try NewFile.write(text, to: name, mode: 0o644) } catch {
            throw error.outcome(name, existing: "--stdout prints a new one")
        }
    }

    private var sandboxSteps: String {
        """
        \(Self.name) is written, for a trial with the simulator. It expects Redis at 127.0.0.1:6379.
        Next, each in a terminal of its own, in this folder:
          fanfare sandbox --state \(Self.state) --project \(project)
          fanfare worker
          fanfare send --token any-token --title Hello --body World --wait
        """
    }

    private var liveSteps: String {
        """
        \(Self.name) is written. It expects Redis at 127.0.0.1:6379. Next, in this folder:
          1. save the project's service account as service-account.json, mode 0600
             (Firebase console: Project settings, Service accounts, Generate new private key)
          2. fanfare config check
          3. fanfare doctor
          4. fanfare worker
          5. fanfare send --token "$TOKEN" --title Hello --body World --wait
        """
    }
}
