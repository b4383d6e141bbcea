internal import FanfareConfiguration
internal import Foundation

/// The dashboard's access token, from its file or the environment.
enum DashboardToken {
    static let variable = "FANFARE_DASHBOARD_TOKEN"

    /// Reads the token; nil if none is given.
    static func read(file: String?) throws -> String? {
        guard let file else {
            let given = ProcessInfo.processInfo.environment[variable] ?? ""
            return given.isEmpty ? nil : given
        }
        let source = ConfiguredFile(name: "--token-file", path: file)
        let content: FileContent
        do throws(ConfigurationError) {
            content = try source.read(limit: 4_096)
        } catch {
            throw Outcome.configuration.because("\(error)")
        }
        let words = String(decoding: content.bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard !words.isEmpty else { throw Outcome.configuration.because("\(source): the file is empty") }
        guard words.count == 1 else {
            throw Outcome.configuration.because("\(source): the file must hold one token and nothing else")
        }
        if content.isReadableByOthers { ConfigurationOptions.warn([source.tooOpen]) }
        return String(words[0])
    }
}
