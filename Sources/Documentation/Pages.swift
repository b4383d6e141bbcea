/// The pages of the Runbook as Markdown. The whole documentation is in Fanfare.docc.
package enum RunbookPages {
    /// A page by the name of its alert; the overview of all alerts by an empty name.
    package static func page(_ name: String) -> [UInt8]? { name.isEmpty ? PackageResources.Runbook_md : pages[name] }

    package static var names: [String] { pages.keys.sorted() }

    private static let pages = [
        "FanfareBacklogOld": PackageResources.FanfareBacklogOld_md,
        "FanfareBatchesLost": PackageResources.FanfareBatchesLost_md,
        "FanfareConfigurationRefused": PackageResources.FanfareConfigurationRefused_md,
        "FanfareCredentialsNotReady": PackageResources.FanfareCredentialsNotReady_md,
        "FanfareDevicesRefused": PackageResources.FanfareDevicesRefused_md,
        "FanfareDrainLong": PackageResources.FanfareDrainLong_md,
        "FanfareFailuresHigh": PackageResources.FanfareFailuresHigh_md,
        "FanfareFanoutStuck": PackageResources.FanfareFanoutStuck_md,
        "FanfareFleetStale": PackageResources.FanfareFleetStale_md,
        "FanfareGatewayCertificateEnds": PackageResources.FanfareGatewayCertificateEnds_md,
        "FanfareGatewayDeferring": PackageResources.FanfareGatewayDeferring_md,
        "FanfareGatewayDown": PackageResources.FanfareGatewayDown_md,
        "FanfareGatewayKeysRefused": PackageResources.FanfareGatewayKeysRefused_md,
        "FanfareGatewayRefusing": PackageResources.FanfareGatewayRefusing_md,
        "FanfareIntakeStalled": PackageResources.FanfareIntakeStalled_md,
        "FanfareJobStopped": PackageResources.FanfareJobStopped_md,
        "FanfareJobsParked": PackageResources.FanfareJobsParked_md,
        "FanfareJobsRejected": PackageResources.FanfareJobsRejected_md,
        "FanfareJobsRepaired": PackageResources.FanfareJobsRepaired_md,
        "FanfareLastingInternal": PackageResources.FanfareLastingInternal_md,
        "FanfareLatencyHigh": PackageResources.FanfareLatencyHigh_md,
        "FanfareLoopSlow": PackageResources.FanfareLoopSlow_md,
        "FanfareMaybeDuplicates": PackageResources.FanfareMaybeDuplicates_md,
        "FanfareNoWorkers": PackageResources.FanfareNoWorkers_md,
        "FanfareNotSending": PackageResources.FanfareNotSending_md,
        "FanfarePressure": PackageResources.FanfarePressure_md,
        "FanfareProjectBlocked": PackageResources.FanfareProjectBlocked_md,
        "FanfareProjectUnreachable": PackageResources.FanfareProjectUnreachable_md,
        "FanfareQuotaRefused": PackageResources.FanfareQuotaRefused_md,
        "FanfareRedisUnreachable": PackageResources.FanfareRedisUnreachable_md,
        "FanfareResultsUnread": PackageResources.FanfareResultsUnread_md,
        "FanfareServerErrors": PackageResources.FanfareServerErrors_md,
        "FanfareVersionsDiffer": PackageResources.FanfareVersionsDiffer_md,
        "FanfareWorkerDown": PackageResources.FanfareWorkerDown_md,
        "FanfareWorkerRestarts": PackageResources.FanfareWorkerRestarts_md,
    ]
}
