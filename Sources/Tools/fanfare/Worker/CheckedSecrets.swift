internal import FCMWire
internal import FanfareConfiguration
internal import OpenSSLKit

extension Configuration {
    /// Loads the secrets and checks that each private key can sign, as a worker does when it starts. A worker
    /// ends if one key cannot.
    ///
    /// - Parameter running: see `loadSecrets`.
    /// - Throws: all faults, and all warnings; no message repeats a part of a key.
    func loadCheckedSecrets(replacing running: Configuration? = nil) throws(ConfigurationError) -> Secrets {
        let secrets = try loadSecrets(replacing: running)
        let faults: [String] = projects.compactMap { project in
            secrets.credentials[project.id]?.privateKey.flatMap(Self.keyFault).map {
                "\(project.credentials?.file?.name ?? project.id): \($0)"
            }
        }
        guard faults.isEmpty else {
            throw ConfigurationError(faults: faults, warnings: warnings + secrets.warnings)
        }
        return secrets
    }

    private static func keyFault(of key: [UInt8]) -> String? {
        do throws(OpenSSLError) {
            _ = try RS256Signer(pem: key)
            return nil
        } catch {
            return "private_key: cannot sign (\(error)); use the file as the Firebase console gives it, with "
                + "line breaks as \\n"
        }
    }
}
