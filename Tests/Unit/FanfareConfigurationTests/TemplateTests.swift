import FanfareModel
import Testing

@testable import FanfareConfiguration

@Suite struct TemplateTests {
    private static let templates = [
        ConfigurationTemplate.live(project: "my-app"), .sandbox(project: "my-app", state: "sandbox"),
    ]

    /// The file with every setting that is a comment switched on.
    private static func uncommented(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let rest = line.drop { $0 == " " }
            guard rest.hasPrefix("#"), !rest.hasPrefix("# ") else { return String(line) }
            return String(line.prefix(line.count - rest.count) + rest.dropFirst())
        }.joined(separator: "\n")
    }

    @Test(arguments: templates)
    func everySettingIsThereWithItsDefaultAndHelp(template: ConfigurationTemplate) throws {
        let file = ConfigurationFile(yaml: Self.uncommented(template.text))
        #expect(file.faults == [])
        #expect(Set(file.values.keys) == Set(Settings.all.map { $0.path(project: "my-app") }))
        let given = Set(ConfigurationFile(yaml: template.text).values.keys)
        let words = template.text.split { $0 == " " || $0 == "\n" || $0 == "#" }.joined(separator: " ")
        for setting in Settings.all {
            let path = setting.path(project: "my-app")
            if !given.contains(path), !setting.defaultText.isEmpty {
                #expect(file.values[path]?.text == setting.defaultText, "\(path)")
            }
            let help = setting.help.replacing("`", with: "").split(separator: " ").joined(separator: " ")
            #expect(words.contains(help), "\(path)")
        }
        #expect(template.text.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test func fileSetsOnlyWhatItHasTo() throws {
        let live = try Configuration.load(yaml: Self.templates[0].text)
        var expected = Configuration()
        expected.projects = [Configuration.Project(id: "my-app")]
        expected.projects[0].credentials = live.projects[0].credentials
        expected.projects[0].topicAPI = .v1
        #expect(live == expected)
        #expect(live.projects[0].credentials?.file?.path == "service-account.json")

        let trial = try Configuration.load(yaml: Self.templates[1].text, directory: "/x/")
        #expect(trial.caFile?.path == "/x/sandbox/ca.pem")
        #expect(trial.projects[0].credentials?.file?.path == "/x/sandbox/service-account-my-app.json")
        #expect(trial.projects[0].endpoint == "https://localhost:8443")
        #expect(trial.warnings.isEmpty)
    }
}
