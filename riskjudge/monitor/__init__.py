"""After deployment: do new items still look like the calibration items, and do labels agree?"""

from riskjudge.monitor.alarm import RiskAlarm
from riskjudge.monitor.drift import Comparison, DriftAnswer, DriftCheck, check_drift

__all__ = ["Comparison", "DriftAnswer", "DriftCheck", "RiskAlarm", "check_drift"]
