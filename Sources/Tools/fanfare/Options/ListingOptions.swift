internal import ArgumentParser

/// Options of the commands that print one line for each job or entry of a project.
struct ListingOptions: ParsableArguments {
    @OptionGroup var project: ProjectOption
    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print one JSON object per line.")
    var json = false

    /// - Parameter force: see ``ProjectOption/connect(_:force:_:)``.
    func connect(force: Bool? = nil, _ body: (ProjectSession) async throws -> Void) async throws {
        try await project.connect(options, force: force, body)
    }
}
