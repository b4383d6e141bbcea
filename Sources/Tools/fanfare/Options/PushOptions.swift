internal import ArgumentParser

/// The flags of every command that pushes a job.
struct PushOptions: ParsableArguments {
    @Flag(name: .customLong("no-check"), help: "Push without checking; a worker then rejects a job that breaks a rule.")
    var skipsCheck = false

    @Flag(help: "Push even if neither the configuration nor a worker knows the project.")
    var force = false
}
