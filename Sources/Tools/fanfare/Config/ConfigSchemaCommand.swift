internal import ArgumentParser
internal import FanfareConfiguration

struct ConfigSchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Prints the JSON Schema of fanfare.yaml.",
        discussion: """
            Editors that know YAML use it to complete keys and to mark mistakes. Save it beside the file and name it in \
            the file's first line; `fanfare init --schema` does both. Print it again after an upgrade.

            Example:
              fanfare config schema > fanfare.schema.json
              sed -i '1i # yaml-language-server: $schema=fanfare.schema.json' fanfare.yaml
            """
    )

    func run() { Console.write(SettingSchema.text, to: 1) }
}
