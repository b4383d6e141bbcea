internal import FanfareConfiguration
internal import FanfareGateway
internal import OpenSSLKit

extension Configuration.Gateway {
    var usesTLS: Bool { certificateFile != nil && !isBehindProxy }

    /// The certificate and the key that the gateway uses; nil for plain HTTP.
    ///
    /// - Throws: a fault of a file, or that OpenSSL cannot use both together.
    func identity() throws(ConfigurationError) -> GatewayOptions.Identity? {
        guard usesTLS, let certificate = certificateFile, let key = keyFile else { return nil }
        let (certificatePEM, keyPEM) = (try Self.pem(certificate), try Self.pem(key))
        do {
            _ = try TLSServerContext(identity: ServerIdentity(certificatePEM: certificatePEM, keyPEM: keyPEM))
        } catch {
            throw .unusableIdentity(error)
        }
        return GatewayOptions.Identity(certificate: certificatePEM, key: keyPEM)
    }

    private static func pem(_ file: ConfiguredFile) throws(ConfigurationError) -> String {
        String(decoding: try file.read(limit: 1 << 20).bytes, as: UTF8.self)
    }
}

extension ConfigurationError {
    static func unusableIdentity(_ error: any Error) -> ConfigurationError {
        ConfigurationError(faults: ["gateway.cert_file and gateway.key_file: \(error); replace both"])
    }
}
